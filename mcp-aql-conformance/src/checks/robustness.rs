//! Checks that invalid messages are rejected and do not stop the adapter.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Body, Check, later, of_level_2 as check, should};
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::json_size::is_light;
use crate::run::Run;
use crate::wire::{Answer, Connection, NoResponse};

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "robustness.invalid_lines",
        "Lines that are not messages do not stop the adapter",
        &["REQ-RQ-08"],
        Body::Alone(later!(garbage)),
    )),
    should(check(
        "robustness.unknown_method",
        "An unknown method is rejected and does not stop the adapter",
        &["REQ-MCP-12"],
        Body::Alone(later!(unknown_method)),
    )),
    check(
        "robustness.unknown_tool",
        "An unknown tool is rejected and does not stop the adapter",
        &["REQ-MCP-12", "REQ-EPT-16"],
        Body::Alone(later!(unknown_tool)),
    ),
    check(
        "robustness.arguments_not_object",
        "Arguments that are not an object are rejected and do not stop the adapter",
        &["REQ-RQ-01", "REQ-RQ-08"],
        Body::Alone(later!(arguments_not_object)),
    ),
    should(check(
        "robustness.duplicate_keys",
        "Duplicate names in arguments are rejected and do not stop the adapter",
        &["REQ-RQ-01", "REQ-GATE-03"],
        Body::Alone(later!(duplicate_keys)),
    )),
    should(check(
        "robustness.request_ids",
        "Every id that JSON-RPC allows is accepted",
        &["REQ-MCP-12"],
        Body::Alone(later!(request_ids)),
    )),
    check(
        "robustness.pipelined",
        "Concurrent requests get their own replies",
        &["REQ-CON-05", "REQ-RSP-01"],
        Body::Alone(later!(pipelined)),
    ),
    check(
        "robustness.large_request",
        "A request below the minimum limit is accepted",
        &["REQ-ENC-08", "REQ-ENC-10"],
        Body::Alone(later!(large_request)),
    ),
    check(
        "robustness.deep_json",
        "JSON with deep nesting is rejected and does not stop the adapter",
        &["REQ-ENC-12", "REQ-RQ-08"],
        Body::Alone(later!(deep_json)),
    ),
    should(check(
        "robustness.cancelled_request",
        "A cancellation of a finished or unknown request has no effect",
        &["REQ-RQ-08"],
        Body::Alone(later!(cancelled_request)),
    )),
];

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

/// The time limit of a reply to an invalid message.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection of the check that is replaced when it breaks.
struct Probe<'a> {
    run: &'a Run,
    cases: &'a Cases,
    connection: Option<Connection>,
}

impl<'a> Probe<'a> {
    fn new(run: &'a Run, cases: &'a Cases) -> Self {
        Self { run, cases, connection: None }
    }

    /// Returns the connection. Skips the case if it cannot be opened.
    async fn connection(&mut self) -> Option<&Connection> {
        let is_over = self.connection.as_ref().is_none_or(|it| it.ended().is_some());
        if is_over {
            match self.run.open().await {
                Ok(connection) => self.connection = Some(connection),
                Err(lost) => {
                    self.cases.skip(Skip::CutShort(lost.to_string()));
                    self.connection = None;
                }
            }
        }
        self.connection.as_ref()
    }

    fn patience(&self) -> Duration {
        REPLY_TIMEOUT.min(self.run.settings.limits.request)
    }

    /// Checks that the connection still answers an ordinary call. Otherwise reports a finding and lets the
    /// next case open a new connection.
    async fn survives(&mut self, sent: &str, mend: &str) {
        let Some(connection) = &self.connection else { return };
        let params = json!({ "operation": "introspect", "params": { "query": "types" } });
        let call = json!({ "name": self.run.adapter.introspect, "arguments": params });
        let answer = connection.request_within("tools/call", &call, self.patience()).await;
        let is_well = matches!(answer, Answer::Result(_));
        self.cases.expect(is_well, || Finding {
            sent: json!(shortened(sent)),
            ..Finding::shown(
                shortened(sent),
                reply_value(&answer),
                "a reply to the following call of `introspect`",
                mend,
            )
        });
        if !is_well {
            self.connection = None;
        }
    }

    /// Sends a request that must be rejected: by a JSON-RPC error, by a result with `isError`, or by a
    /// failure.
    async fn refuses(&mut self, method: &str, params: &str, what: &str, mend: &str) {
        let patience = self.patience();
        let Some(connection) = self.connection().await else { return };
        let id = connection.next_id();
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"
        );
        let answer = connection.exchange(&json!(id), message.clone().into_bytes(), patience).await;
        let is_refused = match &answer {
            Answer::Error { .. } => true,
            Answer::Result(result) => is_failure(result),
            // An HTTP server may reject the request before it parses it.
            Answer::NoResponse(lost) => matches!(lost, NoResponse::Status(400..=499)),
        };
        self.cases.expect(is_refused, || Finding {
            sent: json!(shortened(&message)),
            ..Finding::shown(what, reply_value(&answer), "a failure or an error", mend)
        });
        if matches!(answer, Answer::NoResponse(NoResponse::TimedOut(_))) {
            self.connection = None;
            return;
        }
        self.survives(&message, mend).await;
    }

    async fn close(self) {
        if let Some(connection) = self.connection {
            connection.close().await;
        }
    }
}

/// Whether a tool result is a failure.
fn is_failure(result: &Value) -> bool {
    let text = result.pointer("/content/0/text").and_then(Value::as_str);
    let light = text.filter(|text| is_light(text.as_bytes()));
    let body = light.and_then(|text| serde_json::from_str::<Value>(text).ok());
    result.get("isError") == Some(&json!(true))
        || body.is_some_and(|body| body.get("success") == Some(&json!(false)))
}

/// A message shortened for the report.
fn shortened(message: &str) -> String {
    let mut text: String = message.chars().take(200).collect();
    if text.len() < message.len() {
        text.push_str(&format!("… ({} bytes)", message.len()));
    }
    text
}

/// The reply in the form of reports.
fn reply_value(answer: &Answer) -> Value {
    match answer {
        Answer::Result(result) => result.clone(),
        Answer::Error { raw, .. } => json!({ "error": raw }),
        Answer::NoResponse(lost) => json!(lost.to_string()),
    }
}

async fn garbage(run: &Run, cases: &Cases) {
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

async fn unknown_method(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let mend = "return the JSON-RPC error -32601, method not found";
    probe.refuses("conformance/nothing", "{}", "an unknown method", mend).await;
    if let Some(connection) = probe.connection().await {
        let _ = connection.notify("notifications/conformance/nothing", json!({})).await;
        probe.survives("notifications/conformance/nothing", "ignore unknown notifications").await;
    }
    probe.close().await;
}

async fn unknown_tool(run: &Run, cases: &Cases) {
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

async fn arguments_not_object(run: &Run, cases: &Cases) {
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

async fn duplicate_keys(run: &Run, cases: &Cases) {
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

async fn request_ids(run: &Run, cases: &Cases) {
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

async fn pipelined(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let Some(connection) = probe.connection().await else { return };
    let names: Vec<_> =
        run.adapter.operations.iter().map(|operation| operation.name.as_str()).collect();
    let calls = names.iter().cycle().take(run.at_once()).map(|name| async move {
        let params = json!({ "query": "operations", "name": name });
        let arguments = json!({ "operation": "introspect", "params": params });
        (*name, Exchange::make(connection, &run.adapter.introspect, arguments, None).await)
    });
    for (name, exchange) in join_all(calls).await {
        if let Some(too_fast) = Skip::rate_limited(&exchange) {
            cases.skip(too_fast);
            continue;
        }
        let reported = exchange.body().and_then(|body| body.pointer("/data/operation/name"));
        cases.expect(reported == Some(&json!(name)), || {
            Finding::shown(
                format!("{} requests at once", run.at_once()),
                exchange.received(),
                format!("the details of `{name}`, which this request named"),
                "send each reply with the id of its request; state a lower limit of concurrent requests \
                 as `max_concurrent_requests` in `_protocol`",
            )
        });
    }
    probe.close().await;
}

async fn large_request(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    let Some(connection) = probe.connection().await else { return };
    // The whole request stays below 64 KB, the minimum limit. No operation has such a long name, and
    // adapters may limit the length of names.
    let params = json!({ "query": "operations", "name": "x".repeat(60_000) });
    let arguments = json!({ "operation": "introspect", "params": params });
    let call = json!({ "name": run.adapter.introspect, "arguments": arguments });
    let answer = connection.request("tools/call", &call).await;
    let reported = reply_value(&answer);
    let is_too_large =
        reported.to_string().contains("VALIDATION_PAYLOAD_TOO_LARGE") || !reported.is_object();
    cases.expect(matches!(answer, Answer::Result(_)) && !is_too_large, || {
        Finding::shown(
            "`introspect` with a name of 60000 letters",
            reported.clone(),
            "any reply except that the request is too large",
            "accept requests and strings of at least 65536 bytes",
        )
    });
    probe.close().await;
}

async fn deep_json(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
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
                    "limit the depth in the parser",
                )
                .await;
        }
    }
    probe.close().await;
}

async fn cancelled_request(run: &Run, cases: &Cases) {
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
