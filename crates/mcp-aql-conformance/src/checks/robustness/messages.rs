//! Checks of invalid lines, methods, arguments and ids.

use serde_json::{Value, json};

use super::probe::{Probe, reply_value};
use crate::cases::{Cases, Finding};
use crate::checks::data;
use crate::run::Run;
use crate::wire::Answer;

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

pub(super) async fn garbage(run: &Run, cases: &Cases) {
    send_all(run, "robustness.invalid_lines", cases).await;
}

pub(super) async fn unknown_method(run: &Run, cases: &Cases) {
    send_all(run, "robustness.unknown_method", cases).await;
}

pub(super) async fn unknown_tool(run: &Run, cases: &Cases) {
    send_all(run, "robustness.unknown_tool", cases).await;
}

pub(super) async fn arguments_not_object(run: &Run, cases: &Cases) {
    send_all(run, "robustness.arguments_not_object", cases).await;
}

pub(super) async fn duplicate_keys(run: &Run, cases: &Cases) {
    send_all(run, "robustness.duplicate_keys", cases).await;
}

pub(super) async fn cancelled_request(run: &Run, cases: &Cases) {
    send_all(run, "robustness.cancelled_request", cases).await;
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
    probe.close();
}
