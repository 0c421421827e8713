//! Checks that invalid messages are rejected and do not stop the adapter.

mod load;
mod probe;

use serde_json::{Value, json};

use self::probe::{Probe, reply_value};
use super::{Check, checks};
use crate::cases::{Cases, Finding};
use crate::checks::data;
use crate::run::Run;
use crate::wire::Answer;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "robustness.invalid_lines" => Messages(send_all), ["REQ-RQ-08"],
        "Lines that are not messages do not stop the adapter";
    Should 2 "robustness.unknown_method" => Messages(send_all), ["REQ-MCP-12"],
        "An unknown method is rejected and does not stop the adapter";
    Must 2 "robustness.unknown_tool" => Messages(send_all), ["REQ-MCP-12", "REQ-EPT-16"],
        "An unknown tool is rejected and does not stop the adapter";
    Must 2 "robustness.arguments_not_object" => Messages(send_all),
        ["REQ-RQ-01", "REQ-RQ-08"],
        "Arguments that are not an object are rejected and do not stop the adapter";
    Should 2 "robustness.duplicate_keys" => Messages(send_all),
        ["REQ-RQ-01", "REQ-GATE-03"],
        "Duplicate names in arguments are rejected and do not stop the adapter";
    Should 2 "robustness.request_ids" => Alone(request_ids), ["REQ-MCP-12"],
        "Every id that JSON-RPC allows is accepted",
        expected: "a reply with the same id, of the same type",
        fix: "return the id as the unchanged JSON value";
    Must 2 "robustness.pipelined" => Alone(load::pipelined), ["REQ-CON-05", "REQ-RSP-01"],
        "Concurrent requests get their own replies",
        fix: "send each reply with the id of its request; state a lower limit of concurrent requests as \
         `max_concurrent_requests` in `_protocol`";
    Must 2 "robustness.large_request" => Alone(load::large_request), ["REQ-ENC-08", "REQ-ENC-10"],
        "A request below the minimum limit is accepted",
        expected: "any reply other than a failure because of the size of the request",
        fix: "accept requests and strings of at least 65536 bytes";
    Must 2 "robustness.deep_json" => Alone(load::deep_json), ["REQ-ENC-12", "REQ-RQ-08"],
        "JSON with deep nesting is rejected and does not stop the adapter";
    Should 2 "robustness.cancelled_request" => Messages(send_all), ["REQ-RQ-08"],
        "A cancellation of a finished or unknown request has no effect";
];

/// Sends the messages of a check. The adapter must reject the requests among them and answer the next call.
async fn send_all(run: &Run, check: &str, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    for case in data::messages(check) {
        for line in &case.lines {
            let Some(connection) = probe.connection().await else { return };
            let unused = json!(connection.next_id());
            let line = line.replace("${unused_id}", &unused.to_string());
            // An HTTP server may reject the line with a status.
            let _ = connection.send_raw(line.as_bytes()).await;
            probe.survives(&line, &case.fix).await;
        }
        for params in &case.params {
            let method = case.method.as_deref().unwrap_or_default();
            let quoted = |name: &str| Value::from(name).to_string();
            let params = params
                .replace("${introspect_tool}", &quoted(&run.adapter.introspect))
                .replace("${absent_operation}", &quoted(&run.absent_operation()));
            probe.refuses(method, &params, &params, &case.fix).await;
        }
    }
    probe.close();
}

async fn request_ids(run: &Run, cases: &Cases) {
    let mut probe = Probe::new(run, cases);
    for id in [json!("conformance"), json!(""), json!(0), json!(9_007_199_254_740_991_u64)] {
        let patience = probe.patience();
        let Some(connection) = probe.connection().await else { return };
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }).to_string();
        let answer = connection.exchange(&id, message.clone().into_bytes(), patience).await;
        cases.expect(matches!(answer, Answer::Result(_)), || {
            Finding::shown(format!("id {id}"), reply_value(&answer)).sent(json!(message))
        });
    }
    probe.close();
}
