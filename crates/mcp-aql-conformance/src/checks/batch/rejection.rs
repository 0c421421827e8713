//! Checks of batches that the adapter must reject.

use serde_json::{Map, Value, json};

use super::{is_without, item, results, send, succeeded, supported};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::Run;

/// Returns `true` if a reply is the failure of a whole batch, with only a code and a message.
///
/// ```json
/// { "success": false, "error": { "code": "BATCH_VALIDATION_ERROR", "message": "`operations` is empty" } }
/// ```
fn is_batch_failure(exchange: &Exchange) -> bool {
    exchange.failure().is_some()
        && exchange
            .body()
            .and_then(|body| body.get("error")?.as_object())
            .is_some_and(|error| error.keys().all(|name| name == "code" || name == "message"))
}

pub(super) async fn empty(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    for tool in &run.adapter.endpoints {
        for operations in [json!([]), json!({}), json!("conformance")] {
            let sent = json!({ "operations": operations });
            let Some(exchange) = run.refused(&tool.name, sent, cases).await else { return };
            cases.expect(is_batch_failure(&exchange) || exchange.is_rejected_by_schema(), || {
                Finding::of(&exchange, &tool.name)
            });
        }
    }
}

/// Returns `true` if a message about a batch item names the item or the form of items.
fn says_item(message: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = message.split(|letter: char| !is_part(letter));
    message.contains("[0]") || words.any(|word| matches!(word, "operation" | "item" | "items"))
}

pub(super) async fn item_form(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let name = items.first().and_then(|item| item.get("operation")).cloned().unwrap_or_default();
    for item in [name, json!(7), json!(null), json!([]), json!({}), json!({ "params": {} })] {
        let sent = json!({ "operations": [item] });
        let Some(exchange) = run.refused(&tool, sent, cases).await else { return };
        let inner = results(&exchange)
            .first()
            .and_then(|result| result.pointer("/result/error/message")?.as_str());
        let message = exchange.failure().map(|failure| failure.message).or(inner);
        let is_explained = message.is_some_and(says_item);
        cases.expect(is_explained || exchange.is_rejected_by_schema(), || {
            Finding::of(&exchange, format!("{tool}: {item}"))
        });
    }
}

/// Sends batches with an additional member, which the adapter must reject:
///
/// ```json
/// { "operations": [{ "operation": "list_beds", "params": {} }], "conformance_probe": 1 }
/// ```
pub(super) async fn extra_member(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let operation = items.first().and_then(|item| item.get("operation")).cloned();
    for (name, value) in [
        ("conformance_probe", json!(1)),
        ("params", json!({})),
        ("operation", operation.unwrap_or_default()),
    ] {
        let sent = json!({ "operations": items, name: value });
        let Some(exchange) = run.refused(&tool, sent, cases).await else { return };
        cases.expect(is_batch_failure(&exchange) || exchange.is_rejected_by_schema(), || {
            Finding::of(&exchange, format!("{tool}: {name}"))
        });
    }
}

pub(super) async fn max_operations(run: &Run, cases: &Cases) {
    /// Maximum number of items that the check sends.
    const MAX_ITEMS: u64 = 500;
    if is_without(run, cases).await {
        return;
    }
    let stated = run.adapter.protocol().pointer("/limits/max_batch_operations");
    let Some(stated) = stated.and_then(Value::as_u64).filter(|stated| *stated < MAX_ITEMS) else {
        return cases.not_applicable(
            "`_protocol.limits` does not state `max_batch_operations`, or it is too large to test",
        );
    };
    // The operation does not exist, so each item fails on its own and changes nothing.
    let absent = item(&run.absent_operation(), Map::new());
    for count in [stated, stated + 1] {
        let Ok(length) = usize::try_from(count) else { return };
        let items = vec![absent.clone(); length];
        let Some(exchange) = send(run, &run.adapter.introspect, items, cases).await else { return };
        let is_allowed = count == stated;
        let holds = match is_allowed {
            true => results(&exchange).len() == length,
            false => exchange.failure().is_some(),
        };
        cases.expect(holds, || {
            Finding::of(&exchange, format!("a batch of {count} items")).expected(match is_allowed {
                true => {
                    format!("{count} results: `max_batch_operations` allows this number of items")
                }
                false => format!("a failure: `max_batch_operations` is {stated}"),
            })
        });
    }
}

pub(super) async fn mixed(run: &Run, cases: &Cases) {
    let Some((tool, items)) = supported(run, cases).await else { return };
    let Some(first) = items.into_iter().next() else { return };
    // The item lacks a required parameter, so it cannot succeed even if it is routed.
    let other = run
        .adapter
        .operations
        .iter()
        .find(|operation| operation.tool != tool && operation.required().next().is_some());
    let Some(other) = other else {
        return cases.not_applicable("the adapter has one endpoint family");
    };
    let items = vec![first, item(&other.name, Map::new())];
    let Some(exchange) = send(run, &tool, items, cases).await else { return };
    let outcomes: Vec<_> = results(&exchange).into_iter().map(succeeded).collect();
    let is_orderly = is_batch_failure(&exchange)
        || (outcomes.len() == 2 && outcomes.last() == Some(&Some(false)));
    cases.expect(is_orderly, || Finding::of(&exchange, format!("{tool}: {}", other.name)));
}
