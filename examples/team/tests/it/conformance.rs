//! Runs the conformance suite against the service, for two callers at once.

use std::path::Path;
use std::time::Duration;

use mcp_aql_conformance::config::File;
use mcp_aql_conformance::{Mode, PerMode, Runner, Settings, TimeLimits, UrlTarget};
use serde_json::json;

use crate::service::{ALL_SCOPES, Caller, Data};

/// Creates the projects and tickets that the conformance checks read.
async fn fill(caller: &Caller) {
    for name in ["Website", "Web shop", "App"] {
        let project = caller.data("create_project", json!({ "name": name })).await;
        let project = &project["project"]["project_id"];
        for (title, status, priority) in [("Crash", "open", 1), ("Crash again", "done", 2)] {
            let ticket = json!({
                "project_id": project, "title": title, "status": status, "priority": priority,
            });
            caller.data("create_ticket", ticket).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_caller_finds_level_2() {
    let data = match Data::in_postgres().await {
        Some(data) => data,
        None => Data::in_sqlite(),
    };
    let semantic = data.start().await;
    let single = data.start_with(&[("MCP_AQL_ENDPOINT_MODE", "single")]).await;
    let callers = [("acme", "ada"), ("globex", "bob")].map(|(tenant, subject)| {
        let token = data.token(tenant, subject, ALL_SCOPES);
        let (semantic, single) = (&semantic, &single);
        async move {
            fill(&semantic.caller(&token)).await;
            let target = |url| {
                let bearer = format!("Bearer {token}");
                UrlTarget::new(url).unwrap().header("Authorization", &bearer).unwrap()
            };
            let target =
                PerMode::new(target(&semantic.url())).with(Mode::Single, target(&single.url()));
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.toml");
            // Both runs send up to 64 calls at once. On a busy machine this takes long.
            let limits =
                TimeLimits { request: Duration::from_secs(60), run: Duration::from_secs(1200) };
            let settings = Settings::default()
                .level(2)
                .allow_all()
                .time_limits(limits)
                .file(File::load(&file).unwrap());
            let report = Runner::new(target, settings).run().await;
            assert_eq!(report.conformance_level, 2, "{subject}:\n{}", report.text(false));
        }
    });
    futures_util::future::join_all(callers).await;
}
