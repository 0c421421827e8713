//! Checks of concurrent, large and deeply nested requests.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::probe::{Probe, reply_value};
use crate::adapter::naming;
use crate::cases::{Cases, Finding};
use crate::checks::limits;
use crate::run::Run;
use crate::wire::Answer;

pub(super) async fn pipelined(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let Some(connection) = probe.connection().await else { return };
    let names: Vec<_> =
        run.adapter.operations.iter().map(|operation| operation.name.as_str()).collect();
    let calls = names.iter().cycle().take(run.at_once()).map(|name| async move {
        let params = json!({ "query": "operations", "name": name });
        (*name, run.introspect_on(connection, params).await)
    });
    for (name, exchange) in join_all(calls).await {
        let Some(exchange) = cases.if_answered(exchange) else { continue };
        let details =
            exchange.data().and_then(|data| data.get("operation")).unwrap_or(&Value::Null);
        if !details.is_object() {
            cases.block("introspection.details_form", "a reply has no details of an operation");
            continue;
        }
        let is_own = naming::name_of(details, &run.adapter.name_member) == Some(name);
        cases.expect(is_own, || {
            Finding::shown(format!("{} requests at once", run.at_once()), exchange.received())
                .expected(format!("the details of `{name}`, the name in this request"))
        });
    }
    probe.close();
}

pub(super) async fn large_request(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let Some(connection) = probe.connection().await else { return };
    // The whole request stays below 64 KB, the smallest limit of the protocol. No operation has a name of this length,
    // and adapters may limit the length of names.
    let params = json!({ "query": "operations", "name": "x".repeat(60_000) });
    let arguments = json!({ "operation": "introspect", "params": params });
    let call = json!({ "name": run.adapter.introspect, "arguments": arguments });
    let answer = run.pacer.answer(|| connection.request("tools/call", &call)).await;
    let Some(answer) = cases.ok_or_skip(answer) else { return probe.close() };
    let reported = reply_value(&answer);
    let is_too_large =
        reported.to_string().contains("VALIDATION_PAYLOAD_TOO_LARGE") || !reported.is_object();
    cases.expect(matches!(answer, Answer::Result(_)) && !is_too_large, || {
        Finding::shown("`introspect` with a name of 60000 letters", reported.clone())
    });
    probe.close();
}

pub(super) async fn deep_json(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    if !limits::enforces_depth(run).await {
        probe.known = Some(("limits.nesting_depth", "no limit of the nesting depth is enforced"));
    }
    for depth in [200, 5_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let params = format!(
                "{{\"name\":{},\"arguments\":{{\"operation\":\"introspect\",\"params\":\
                 {{\"query\":\"operations\",\"name\":{deep}}}}}}}",
                json!(run.adapter.introspect)
            );
            probe
                .refuses(
                    "tools/call",
                    &params,
                    &format!("JSON that is {depth} levels deep"),
                    "reject a request that is nested more deeply than the stated limit, before it \
                     is parsed completely",
                )
                .await;
        }
    }
    probe.close();
}
