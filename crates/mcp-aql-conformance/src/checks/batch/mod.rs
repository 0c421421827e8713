//! Checks of batches, requests with several operations.

mod halting;
mod rejection;
mod replies;

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::call::Exchange;
use crate::cases::Cases;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "batch.claimed" => Reads(replies::claimed), ["REQ-INT-07", "REQ-BAT-01"],
        "`capabilities.batch` states whether batches are supported",
        fix: "set `_protocol.capabilities.batch` to true if the adapter runs batches, and to false otherwise";
    Should 2 "batch.offered" => Reads(replies::offered), ["REQ-CNF-02"],
        "The adapter accepts batches, as level 2 recommends",
        expected: "batches: level 2 recommends them (SHOULD), so their absence is a warning, not a failure",
        fix: "accept `operations`, a list of requests, as an alternative to `operation`, and return one result for \
         each; level 2 is granted without this";
    Must 2 "batch.form" => Reads(replies::form), ["REQ-BAT-03"],
        "The reply to a batch has `success: true`, `data: null`, `results` and `summary`",
        fix: "return these members and no others";
    Must 2 "batch.order" => Reads(replies::order), ["REQ-BAT-02", "REQ-BAT-04"],
        "Results have the order of the items, with index and operation",
        expected: "one result for each item, in the same order, with `index` from 0 and `operation`",
        fix: "run the items in order and return their results in that order";
    Must 2 "batch.inner_form" => Reads(replies::inner_form), ["REQ-BAT-04"],
        "Every item has its own complete result",
        expected: "`index`, `operation`, and a `result` with `success` and `data` or `error`, without `warnings`, \
         `_meta` or `confirmation` ({faults})",
        fix: "put the plain result of each operation into `result`, and its warnings into the batch's";
    Must 2 "batch.failure_inside" => Reads(replies::failure_inside), ["REQ-BAT-02", "REQ-BAT-05"],
        "A failed item is counted and does not stop the other items",
        expected: "`success: true`, the second item a failure, the first and the third successes, and a summary that \
         counts 2 and 1",
        fix: "continue after a failed item, and count it";
    Must 2 "batch.empty" => Reads(rejection::empty), ["REQ-BAT-01", "REQ-BAT-06"],
        "An empty or malformed batch is rejected with `code` and `message` only",
        expected: "a failure such as BATCH_VALIDATION_ERROR, with `code` and `message` only",
        fix: "check that `operations` is a list with at least one item";
    Must 2 "batch.item_form" => Reads(rejection::item_form),
        ["REQ-BAT-01", "REQ-BAT-05", "REQ-ERR-05"],
        "An item that is not an object with an `operation` is rejected, and the message describes the form of an item",
        expected: "a failure of the batch or of the item whose message describes an item: an object with `operation` \
         and optional `params`",
        fix: "check the form of every item, and describe the valid form in the message";
    Must 2 "batch.invalid_text" => Reads(replies::invalid_text), ["REQ-BAT-02", "REQ-BAT-05"],
        "A string with invalid encoding in one item does not affect the other items",
        expected: "`success: true`, and results of all three items, of which the first and the third are successes",
        fix: "reject U+0000 in the item that contains it, and run the others";
    Must 2 "batch.extra_member" => Reads(rejection::extra_member), ["REQ-BAT-01"],
        "A batch with members other than `operations` is rejected",
        expected: "a failure such as BATCH_VALIDATION_ERROR, with `code` and `message` only",
        fix: "reject members other than `operations` instead of ignoring them";
    Should 2 "batch.max_operations" => Reads(rejection::max_operations),
        ["REQ-BAT-01", "REQ-BAT-04", "REQ-INT-30"],
        "A batch may have up to `max_batch_operations` items",
        fix: "state the number of items that the adapter accepts, and reject larger batches as a whole";
    Should 2 "batch.mixed" => Changes(rejection::mixed), ["REQ-BAT-07"],
        "A batch over two families is rejected or routed item by item",
        expected: "a failure of the batch, or of the item of the other family",
        fix: "check the family of every item, or route each item to its own family";
    Should 2 "batch.halts" => Changes(halting::halts), ["REQ-BAT-08", "REQ-BAT-09", "REQ-BAT-10"],
        "An item that needs confirmation halts the batch, and the reply names it and the pending items",
        fix: "halt a batch at the item that needs confirmation, and return the pending items";
    Should 2 "batch.pending_whole" => Changes(halting::pending_whole), ["REQ-BAT-08"],
        "Pending items are returned unchanged, including their confirmations",
        fix: "return every member of an item's params, including `_confirmation`: clients make the next batch from \
         them";
    Should 2 "batch.continues" => Changes(halting::continues), ["REQ-BAT-11"],
        "A halted batch continues with the token in its first item",
        expected: "the operation to run, because its item has the issued token",
        fix: "accept the token of a halted batch in the params of the item, in another batch";
];

/// Returns `true` if the adapter does not support batches: it says so, or it does not document the capability and
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

/// Returns a tool and batch items for it like `reading`, if the adapter supports batches.
async fn supported(run: &Run, cases: &Cases) -> Option<(String, Vec<Value>)> {
    if is_without(run, cases).await { None } else { reading(run, cases) }
}

/// Creates a batch item.
fn item(operation: &str, params: Map<String, Value>) -> Value {
    json!({ "operation": operation, "params": params })
}

/// Returns a tool and batch items with READ operations for it, from two operations if possible. Skips the case if no
/// tool has a READ operation.
fn reading(run: &Run, cases: &Cases) -> Option<(String, Vec<Value>)> {
    let mut found: Option<(String, Vec<Value>)> = None;
    // Operations without required parameters come first, because they always succeed.
    let mut reads = run.reads_by_time();
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
        cases.skip_without("no READ operation can be called");
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
