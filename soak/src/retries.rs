//! Sends the same confirmation token in many concurrent calls. Exactly one of them may run.

use std::time::Instant;

use mcp_aql::store::MemoryState;
use mcp_aql_tests_databases::gated::{self, Folder};
use serde_json::json;

use crate::Fault;
use crate::http::Connection;
use crate::process::Process;
use crate::report::Report;

/// Serves the adapter over HTTP. Its state is in memory.
pub(crate) async fn serve(folder: &std::path::Path) -> Result<(), Fault> {
    let adapter = gated::adapter(MemoryState::default(), folder, 0)?;
    Ok(gated::serve_http(adapter).await?)
}

/// Runs rounds of concurrent calls. Returns `true` if all checks hold.
///
/// All calls of a round have the same arguments:
///
/// ```json
/// { "operation": "delete_thing", "params": { "thing": "thing-7", "_confirmation": "conf_…" } }
/// ```
pub(crate) async fn run(rounds: u64, at_once: usize) -> Result<bool, Fault> {
    let folder = tempfile::tempdir()?;
    let path =
        folder.path().to_str().ok_or("the name of the folder is not valid Unicode")?.to_owned();
    let (_process, _input, address) = Process::http(&["gated-http".to_owned(), path]).await?;
    let mut report = Report::default();
    report.part(&format!("{at_once} calls with one token at once, over HTTP"));
    let start = Instant::now();
    let mut connections = Vec::new();
    for _ in 0..at_once {
        connections.push(Connection::open(address).await?);
    }
    let (mut once, mut used, mut slowed) = (0, 0, 0);
    for round in 0..rounds {
        let thing = format!("thing-{round}");
        // Open a new session per round, because a session with many failures is slowed down.
        let mut first = Connection::open(address).await?;
        let session = first.open_session().await?;
        let asked =
            first.call(Some(&session), 1, "delete_thing", json!({ "thing": thing })).await?;
        let token = asked["error"]["details"]["confirmation_token"].as_str();
        let token = token.ok_or_else(|| format!("no token: {asked}"))?;
        let params = json!({ "thing": thing, "_confirmation": token });
        let calls = (2..).zip(connections).map(|(id, mut connection)| {
            let (session, params) = (session.clone(), params.clone());
            tokio::spawn(async move {
                let reply = connection.call(Some(&session), id, "delete_thing", params).await;
                (connection, reply)
            })
        });
        let calls: Vec<_> = calls.collect();
        connections = Vec::new();
        let mut ran = 0;
        for call in calls {
            let (connection, reply) = call.await?;
            connections.push(connection);
            let reply = reply?;
            match reply["error"]["code"].as_str() {
                None if reply["success"] == true => ran += 1,
                Some("TOKEN_ALREADY_USED") => used += 1,
                Some("RATE_LIMIT_EXCEEDED") => slowed += 1,
                _ => return Err(format!("an unexpected reply: {reply}").into()),
            }
        }
        once += u64::from(ran == 1);
        first.close_session(&session).await?;
    }
    let deleted = Folder::new(folder.path()).deleted();
    report.check("rounds in which one call ran", format!("{once} of {rounds}"), once == rounds);
    report.check("deletions", deleted.len(), deleted.len() as u64 == rounds);
    report.note("rejected: already used", used);
    report.note("rejected: too many failures", slowed);
    report.note("seconds", format!("{:.1}", start.elapsed().as_secs_f64()));
    Ok(report.end())
}
