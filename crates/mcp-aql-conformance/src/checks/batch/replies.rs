//! Checks of replies to batches.

use serde_json::{Map, Value, json};

use super::{count, item, reading, results, send, succeeded, supported};
use crate::cases::{Cases, Finding};
use crate::forms::{Form, Member, may, must};
use crate::run::Run;

pub(super) async fn claimed(run: &Run, cases: &Cases) {
    let Some((tool, items)) = reading(run, cases) else { return };
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    let is_taken = !results(&exchange).is_empty();
    match run.adapter.capability("batch") {
        None => cases.not_applicable("`_protocol.capabilities` does not list `batch`"),
        Some(claimed) => {
            cases.expect(claimed == is_taken, || {
                Finding::of(&exchange, "_protocol.capabilities.batch").expected(if claimed {
                    "one result for each item, because `_protocol.capabilities` states `batch: \
                     true`"
                } else {
                    "a failure"
                })
            });
        }
    }
}

pub(super) async fn offered(run: &Run, cases: &Cases) {
    let is_offered = match run.adapter.capability("batch") {
        Some(claimed) => claimed,
        None => {
            let Some((tool, items)) = reading(run, cases) else { return };
            let Some(exchange) = send(run, &tool, items, cases).await else { return };
            exchange.failure().is_none()
        }
    };
    let stated = run.adapter.protocol().get("capabilities").unwrap_or(&Value::Null);
    cases.expect(is_offered, || Finding::shown("_protocol.capabilities.batch", stated.clone()));
}

/// Expected reply to a batch.
///
/// ```json
/// { "success": true, "data": null,
///   "results": [{ "index": 0, "operation": "list_beds", "result": { "success": true, "data": {} } }],
///   "summary": { "total": 1, "succeeded": 1, "failed": 0 } }
/// ```
const BATCH: Form = Form::Object(&[
    must("success", Form::Just(true)),
    must("data", Form::Null),
    must("results", Form::List(&Form::Any)),
    must("summary", Form::Any),
    may("warnings", Form::Any),
    may("_meta", Form::Any),
]);

pub(super) async fn form(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let total = items.len() as u64;
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    let expected = format!(
        "{{\"success\": true, \"data\": null, \"results\": […], \"summary\": {{\"total\": {total}, \
         \"succeeded\": …, \"failed\": …}}}}"
    );
    let finding = |expected: String| Finding::of(&exchange, &tool).expected(expected);
    let body = exchange.body().unwrap_or(&Value::Null);
    if !BATCH.check(body, cases, || finding(format!("{expected} ({{faults}})"))) {
        return;
    }
    let adds_up = count(&exchange, "total") == Some(total)
        && count(&exchange, "succeeded")
            .zip(count(&exchange, "failed"))
            .is_some_and(|(succeeded, failed)| succeeded + failed == total);
    cases.expect(adds_up, || finding(expected));
}

pub(super) async fn order(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let items: Vec<_> = items.iter().cycle().take(5).cloned().collect();
    let Some(exchange) = send(run, &tool, items.clone(), cases).await else { return };
    let results = results(&exchange);
    let is_in_order = results.len() == items.len()
        && results.iter().zip(&items).enumerate().all(|(at, (result, item))| {
            result.get("index").and_then(Value::as_u64) == Some(at as u64)
                && result.get("operation") == item.get("operation")
        });
    cases.expect(is_in_order, || Finding::of(&exchange, &tool));
}

/// Expected result of a batch item, without warnings and metadata. The check `errors.form` judges its error.
const SUCCESS: Form = Form::Object(&[must("success", Form::Just(true)), must("data", Form::Any)]);
const FAILURE: Form = Form::Object(&[must("success", Form::Just(false)), must("error", Form::Any)]);

/// Returns the expected members of a result entry with an operation result of this form.
const fn item_with(result: Form) -> [Member; 4] {
    [
        must("index", Form::Whole(0)),
        must("operation", Form::Any),
        must("result", result),
        may("status", Form::Any),
    ]
}

const SUCCEEDED: Form = Form::Object(&item_with(SUCCESS));
const FAILED: Form = Form::Object(&item_with(FAILURE));

pub(super) async fn inner_form(run: &Run, cases: &Cases) {
    let Some((tool, mut items)) = supported(run, cases).await else { return };
    items.push(item(&run.absent_operation(), Map::new()));
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    for result in results(&exchange) {
        let form = if succeeded(result) == Some(false) { FAILED } else { SUCCEEDED };
        form.check(result, cases, || {
            let index = result.get("index").unwrap_or(&Value::Null);
            Finding::of(&exchange, format!("{tool}: {index}"))
        });
    }
    if results(&exchange).is_empty() {
        cases.skip_without("a batch returned no results");
    }
}

pub(super) async fn failure_inside(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let Some(first) = items.into_iter().next() else { return };
    let absent = item(&run.absent_operation(), Map::new());
    let items = vec![first.clone(), absent, first];
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    let outcomes: Vec<_> = results(&exchange).into_iter().map(succeeded).collect();
    let holds = exchange.succeeded()
        && outcomes == [Some(true), Some(false), Some(true)]
        && count(&exchange, "succeeded") == Some(2)
        && count(&exchange, "failed") == Some(1);
    // Other checks report failing READ operations.
    if outcomes.first() == Some(&Some(false)) {
        return cases.skip_without("no READ operation succeeds");
    }
    cases.expect(holds, || Finding::of(&exchange, &tool));
}

pub(super) async fn invalid_text(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let Some(first) = items.into_iter().next() else { return };
    let mut bad = first.clone();
    if let Some(params) = bad.get_mut("params").and_then(Value::as_object_mut) {
        params.insert("_conformance".to_owned(), json!("a\u{0}b"));
    }
    let sent = vec![first.clone(), bad, first];
    let Some(exchange) = send(run, &tool, sent, cases).await else { return };
    let outcomes: Vec<_> = results(&exchange).into_iter().map(succeeded).collect();
    if outcomes.first() == Some(&Some(false)) {
        return cases.skip_without("no READ operation succeeds");
    }
    // Each adapter decides whether it accepts the string (REQ-ENC-02).
    let holds =
        exchange.succeeded() && matches!(outcomes.as_slice(), [Some(true), Some(_), Some(true)]);
    cases.expect(holds, || Finding::of(&exchange, &tool));
}
