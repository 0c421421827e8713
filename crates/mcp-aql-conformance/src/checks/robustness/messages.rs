//! Checks of invalid lines, methods, arguments and ids.

use serde_json::json;

use super::probe::{Probe, reply_value};
use crate::cases::{Cases, Finding};
use crate::run::Run;
use crate::wire::Answer;

/// Lines that are not requests. None of them may be answered with a result.
const INVALID_LINES: [&str; 13] = [
    "this is no JSON",
    "{",
    "{\"jsonrpc\":\"2.0\",\"id\":901,\"method\":\"tools/list\"",
    "[]",
    "[1,2,3]",
    "42",
    "null",
    "\"tools/list\"",
    "{}",
    "{\"jsonrpc\":\"2.0\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":42}",
    "{\"jsonrpc\":\"2.0\",\"id\":902,\"result\":{}}",
    "\u{0}\u{1}\u{2}",
];

pub(super) async fn garbage(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    for line in INVALID_LINES {
        let Some(connection) = probe.connection().await else { return };
        // An HTTP server may reject the line with a status.
        let _ = connection.send_raw(line.as_bytes()).await;
        probe
            .survives(
                line,
                "return a JSON-RPC error or ignore the line, and continue: an invalid line must not end the \
                 adapter",
            )
            .await;
    }
    probe.close().await;
}

pub(super) async fn unknown_method(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let mend = "return the JSON-RPC error -32601, method not found";
    probe.refuses("conformance/nothing", "{}", "an unknown method", mend).await;
    if let Some(connection) = probe.connection().await {
        let _ = connection.notify("notifications/conformance/nothing", json!({})).await;
        probe.survives("notifications/conformance/nothing", "ignore unknown notifications").await;
    }
    probe.close().await;
}

pub(super) async fn unknown_tool(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let call = json!({
        "name": "conformance_probe_of_no_tool",
        "arguments": { "operation": "introspect", "params": { "query": "operations" } },
    });
    probe
        .refuses(
            "tools/call",
            &call.to_string(),
            "an unknown tool",
            "return the JSON-RPC error -32602, and run nothing",
        )
        .await;
    probe.close().await;
}

pub(super) async fn arguments_not_object(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    for arguments in ["[]", "\"introspect\"", "7", "true"] {
        let params =
            format!("{{\"name\":{},\"arguments\":{arguments}}}", json!(run.adapter.introspect));
        probe
            .refuses(
                "tools/call",
                &params,
                &format!("arguments: {arguments}"),
                "reject other types with a failure or the JSON-RPC error -32602",
            )
            .await;
    }
    probe.close().await;
}

pub(super) async fn duplicate_keys(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let absent = run.absent_operation();
    let types = r#""params":{"query":"types"}"#;
    for arguments in [
        format!(r#""operation":"{absent}","operation":"introspect",{types}"#),
        format!(r#""operation":"introspect","operation":"{absent}",{types}"#),
        format!(r#""operation":"introspect",{types},{types}"#),
        r#""operation":"introspect","params":{"query":"types","query":"operations"}"#.to_owned(),
    ] {
        let params =
            format!("{{\"name\":{},\"arguments\":{{{arguments}}}}}", json!(run.adapter.introspect));
        probe
            .refuses(
                "tools/call",
                &params,
                &format!("arguments: {{{arguments}}}"),
            "reject JSON objects with duplicate names: the validation and the operation could read different \
             values",
            )
            .await;
    }
    probe.close().await;
}

pub(super) async fn request_ids(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    for id in [json!("conformance"), json!(""), json!(0), json!(9_007_199_254_740_991_u64)] {
        let patience = probe.patience();
        let Some(connection) = probe.connection().await else { return };
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }).to_string();
        let answer = connection.exchange(&id, message.clone().into_bytes(), patience).await;
        cases.expect(matches!(answer, Answer::Result(_)), || Finding {
            sent: json!(message),
            ..Finding::shown(
                format!("id {id}"),
                reply_value(&answer),
                "a reply with the same id, of the same type",
                "return the id as the unchanged JSON value",
            )
        });
    }
    probe.close().await;
}

pub(super) async fn cancelled_request(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let Some(connection) = probe.connection().await else { return };
    let before = connection.next_id();
    for request in [json!(before), json!("conformance"), json!(1), json!(null)] {
        let Some(connection) = probe.connection().await else { return };
        let params = json!({ "requestId": request, "reason": "over" });
        let _ = connection.notify("notifications/cancelled", params).await;
        probe
            .survives(
                &format!("notifications/cancelled for the request {request}"),
                "ignore cancellations of requests that are not in progress",
            )
            .await;
    }
    probe.close().await;
}
