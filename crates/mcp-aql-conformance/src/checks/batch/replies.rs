//! Checks of the replies to batches.

use serde_json::{Map, Value, json};

use super::{count, item, reading, results, send, succeeded, supported};
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) async fn claimed(run: &Run, cases: &Cases) {
    let Some((tool, items)) = reading(run, cases) else { return };
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    let is_taken = !results(&exchange).is_empty();
    match run.adapter.capability("batch") {
        None => cases.not_applicable("`_protocol.capabilities` does not list `batch`"),
        Some(claimed) => {
            cases.expect(claimed == is_taken, || {
                Finding::of(
                    &exchange,
                    "_protocol.capabilities.batch",
                    if claimed {
                        "results, because the capability is claimed"
                    } else {
                        "a failure"
                    },
                    "state in the capability whether batches are supported",
                )
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
    cases.expect(is_offered, || {
        Finding::shown(
            "_protocol.capabilities.batch",
            stated.clone(),
            "batches: level 2 recommends them (SHOULD), so their absence is a warning and no failure",
            "accept `operations`, a list of requests, beside `operation`, and return one result for each; \
             level 2 is granted without this",
        )
    });
}

pub(super) async fn form(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let total = items.len() as u64;
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    let known = ["success", "data", "results", "summary", "warnings", "_meta"];
    let holds = exchange.body().and_then(Value::as_object).is_some_and(|body| {
        body.get("success") == Some(&Value::Bool(true))
            && body.get("data") == Some(&Value::Null)
            && body.get("results").is_some_and(Value::is_array)
            && body.keys().all(|name| known.contains(&name.as_str()))
    });
    let adds_up = count(&exchange, "total") == Some(total)
        && count(&exchange, "succeeded")
            .zip(count(&exchange, "failed"))
            .is_some_and(|(succeeded, failed)| succeeded + failed == total);
    cases.expect(holds && adds_up, || {
        Finding::of(
            &exchange,
            &tool,
            format!(
                "{{\"success\": true, \"data\": null, \"results\": […], \"summary\": {{\"total\": \
                 {total}, \"succeeded\": …, \"failed\": …}}}}"
            ),
            "return these members and no others",
        )
    });
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
    cases.expect(is_in_order, || {
        Finding::of(
            &exchange,
            &tool,
            "one result for each item, in the same order, with `index` from 0 and `operation`",
            "run the items in order and return their results in that order",
        )
    });
}

pub(super) async fn inner_form(run: &Run, cases: &Cases) {
    let Some((tool, mut items)) = supported(run, cases).await else { return };
    items.push(item(&run.absent_operation(), Map::new()));
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    for result in results(&exchange) {
        let known = ["index", "operation", "result", "status"];
        let has_form = result
            .as_object()
            .is_some_and(|result| result.keys().all(|name| known.contains(&name.as_str())));
        let inner = result.get("result").and_then(Value::as_object);
        let has = |name: &str| inner.is_some_and(|inner| inner.contains_key(name));
        let is_whole = match succeeded(result) {
            Some(true) => has("data") && !has("error"),
            Some(false) => {
                let is_text = |name: &str| {
                    inner
                        .and_then(|inner| inner.get("error")?.get(name))
                        .is_some_and(Value::is_string)
                };
                !has("data") && is_text("code") && is_text("message")
            }
            None => false,
        };
        let is_bare = !["warnings", "_meta", "confirmation"].into_iter().any(has);
        cases.expect(has_form && is_whole && is_bare, || {
            Finding::of(
                &exchange,
                format!("{tool}: {}", result.get("index").unwrap_or(&Value::Null)),
                "`index`, `operation`, and a `result` with `success` and `data` or `error`, without \
                 `warnings`, `_meta` or `confirmation`",
                "put the plain result of each operation into `result`, and its warnings into the batch's",
            )
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
    cases.expect(holds, || {
        Finding::of(
            &exchange,
            &tool,
            "`success: true`, the second item a failure, the first and the third successes, and a \
             summary that counts 2 and 1",
            "continue after a failed item, and count it",
        )
    });
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
    // Each adapter decides whether it accepts the text itself (REQ-ENC-02).
    let holds =
        exchange.succeeded() && matches!(outcomes.as_slice(), [Some(true), Some(_), Some(true)]);
    cases.expect(holds, || {
        Finding::of(
            &exchange,
            &tool,
            "`success: true`, and results of all three items, of which the first and the third are successes",
            "reject U+0000 in the item that contains it, and run the others",
        )
    });
}
