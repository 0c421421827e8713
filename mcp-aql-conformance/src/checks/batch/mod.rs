//! Checks of batches: several operations in one request.

mod halting;
mod rejection;
mod replies;

use serde_json::{Map, Value, json};

use super::{Body, Check, later, of_level_2 as check, should};
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    check(
        "batch.claimed",
        "`capabilities.batch` states whether batches are supported",
        &["REQ-INT-07", "REQ-BAT-01"],
        Body::Reads(later!(replies::claimed)),
    ),
    check(
        "batch.form",
        "The reply to a batch has `success: true`, `data: null`, `results` and `summary`",
        &["REQ-BAT-03"],
        Body::Reads(later!(replies::form)),
    ),
    check(
        "batch.order",
        "Results have the order of the items, with index and operation",
        &["REQ-BAT-02", "REQ-BAT-04"],
        Body::Reads(later!(replies::order)),
    ),
    check(
        "batch.inner_form",
        "Every item has its own complete result",
        &["REQ-BAT-04"],
        Body::Reads(later!(replies::inner_form)),
    ),
    check(
        "batch.failure_inside",
        "A failed item is counted and does not stop the other items",
        &["REQ-BAT-02", "REQ-BAT-05"],
        Body::Reads(later!(replies::failure_inside)),
    ),
    check(
        "batch.empty",
        "An empty or malformed batch is rejected with `code` and `message` only",
        &["REQ-BAT-01", "REQ-BAT-06"],
        Body::Reads(later!(rejection::empty)),
    ),
    check(
        "batch.item_form",
        "An item that is not an object with an `operation` is rejected, and the message describes the form of an item",
        &["REQ-BAT-01", "REQ-BAT-05", "REQ-ERR-05"],
        Body::Reads(later!(rejection::item_form)),
    ),
    check(
        "batch.invalid_text",
        "Invalid text in one item does not affect the other items",
        &["REQ-BAT-02", "REQ-BAT-05"],
        Body::Reads(later!(replies::invalid_text)),
    ),
    check(
        "batch.extra_member",
        "A batch with other members beside `operations` is rejected",
        &["REQ-BAT-01"],
        Body::Reads(later!(rejection::extra_member)),
    ),
    should(check(
        "batch.max_operations",
        "A batch may have up to `max_batch_operations` items",
        &["REQ-BAT-01", "REQ-BAT-04", "REQ-INT-30"],
        Body::Reads(later!(rejection::max_operations)),
    )),
    should(check(
        "batch.mixed",
        "A batch over two families is rejected or routed item by item",
        &["REQ-BAT-07"],
        Body::Changes(later!(rejection::mixed)),
    )),
    should(check(
        "batch.halts",
        "An item that needs confirmation halts the batch, and the reply names it and the pending items",
        &["REQ-BAT-08", "REQ-BAT-09", "REQ-BAT-10"],
        Body::Changes(later!(halting::halts)),
    )),
    should(check(
        "batch.pending_whole",
        "Pending items are returned unchanged, including their confirmations",
        &["REQ-BAT-08"],
        Body::Changes(later!(halting::pending_whole)),
    )),
    should(check(
        "batch.continues",
        "A halted batch continues with the token in its first item",
        &["REQ-BAT-11"],
        Body::Changes(later!(halting::continues)),
    )),
];

/// Whether the adapter does not support batches: it says so, or it does not document the capability and
/// rejects a batch.
async fn is_without(run: &Run, cases: &Cases) -> bool {
    match run.adapter.capability("batch") {
        Some(true) => false,
        Some(false) => {
            cases.not_applicable("`capabilities.batch` is false");
            true
        }
        None => {
            let Some((tool, items)) = reading(run, cases) else { return true };
            let Some(exchange) = send(run, &tool, items, cases).await else { return true };
            let is_without = exchange.failure().is_some();
            if is_without {
                cases.not_applicable(
                    "batches are rejected, and `capabilities` does not list `batch`",
                );
            }
            is_without
        }
    }
}

/// Creates an item of a batch.
fn item(operation: &str, params: Map<String, Value>) -> Value {
    json!({ "operation": operation, "params": params })
}

/// Returns a tool and items of READ operations for it, from two operations if it has two. Skips the case if
/// it has none.
fn reading(run: &Run, cases: &Cases) -> Option<(String, Vec<Value>)> {
    let mut found: Option<(String, Vec<Value>)> = None;
    // Operations without required parameters come first because they always succeed.
    let mut reads: Vec<_> = run.adapter.reads().collect();
    reads.sort_by_key(|operation| operation.required().count());
    for operation in reads {
        if run.forbids(operation).is_some() {
            continue;
        }
        let Ok(params) = run.valid(operation) else { continue };
        let item = item(&operation.name, params);
        match &mut found {
            None => found = Some((operation.tool.clone(), vec![item])),
            Some((tool, items)) if *tool == operation.tool && items.len() < 2 => items.push(item),
            Some(_) => {}
        }
    }
    if found.is_none() {
        cases.skip(Skip::NoFixture("no READ operation can be called".to_owned()));
    }
    found
}

async fn send(run: &Run, tool: &str, items: Vec<Value>, cases: &Cases) -> Option<Exchange> {
    run.refused(tool, json!({ "operations": items }), cases).await
}

fn results(exchange: &Exchange) -> Vec<&Value> {
    let results = exchange.body().and_then(|body| body.get("results")?.as_array());
    results.into_iter().flatten().collect()
}

fn count(exchange: &Exchange, name: &str) -> Option<u64> {
    exchange.body()?.get("summary")?.get(name)?.as_u64()
}

fn succeeded(item: &Value) -> Option<bool> {
    item.pointer("/result/success")?.as_bool()
}
