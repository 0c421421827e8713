//! Checks of batches: several operations in one request.

use serde_json::{Map, Value, json};

use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::items::confirmed;
use crate::nouns::is_identifier;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    check(
        "batch.claimed",
        "`capabilities.batch` states whether batches are supported",
        &["REQ-INT-07", "REQ-BAT-01"],
        Body::Reads(later!(claimed)),
    ),
    check(
        "batch.form",
        "The reply to a batch has `success: true`, `data: null`, `results` and `summary`",
        &["REQ-BAT-03"],
        Body::Reads(later!(form)),
    ),
    check(
        "batch.order",
        "Results have the order of the items, with index and operation",
        &["REQ-BAT-02", "REQ-BAT-04"],
        Body::Reads(later!(order)),
    ),
    check(
        "batch.inner_form",
        "Every item has its own complete result",
        &["REQ-BAT-04"],
        Body::Reads(later!(inner_form)),
    ),
    check(
        "batch.failure_inside",
        "A failed item is counted and does not stop the other items",
        &["REQ-BAT-02", "REQ-BAT-05"],
        Body::Reads(later!(failure_inside)),
    ),
    check(
        "batch.empty",
        "An empty or malformed batch is rejected with `code` and `message` only",
        &["REQ-BAT-01", "REQ-BAT-06"],
        Body::Reads(later!(empty)),
    ),
    check(
        "batch.item_form",
        "An item that is not an object with an `operation` is rejected, and the message describes the form of an item",
        &["REQ-BAT-01", "REQ-BAT-05", "REQ-ERR-05"],
        Body::Reads(later!(item_form)),
    ),
    check(
        "batch.invalid_text",
        "Invalid text in one item does not affect the other items",
        &["REQ-BAT-02", "REQ-BAT-05"],
        Body::Reads(later!(invalid_text)),
    ),
    check(
        "batch.extra_member",
        "A batch with other members beside `operations` is rejected",
        &["REQ-BAT-01"],
        Body::Reads(later!(extra_member)),
    ),
    should(check(
        "batch.max_operations",
        "A batch may have up to `max_batch_operations` items",
        &["REQ-BAT-01", "REQ-BAT-04", "REQ-INT-30"],
        Body::Reads(later!(max_operations)),
    )),
    should(check(
        "batch.mixed",
        "A batch over two families is rejected or routed item by item",
        &["REQ-BAT-07"],
        Body::Changes(later!(mixed)),
    )),
    should(check(
        "batch.halts",
        "An item that needs confirmation halts the batch, and the reply names it and the pending items",
        &["REQ-BAT-08", "REQ-BAT-09", "REQ-BAT-10"],
        Body::Changes(later!(halts)),
    )),
    should(check(
        "batch.pending_whole",
        "Pending items are returned unchanged, including their confirmations",
        &["REQ-BAT-08"],
        Body::Changes(later!(pending_whole)),
    )),
    should(check(
        "batch.continues",
        "A halted batch continues with the token in its first item",
        &["REQ-BAT-11"],
        Body::Changes(later!(continues)),
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

async fn claimed(run: &Run, cases: &Cases) {
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

async fn form(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
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

async fn order(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
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

async fn inner_form(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, mut items)) = reading(run, cases) else { return };
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
        cases.skip(Skip::NoFixture("a batch returned no results".to_owned()));
    }
}

async fn failure_inside(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
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
        return cases.skip(Skip::NoFixture("no READ operation succeeds".to_owned()));
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

/// Whether a reply is the failure of a whole batch: a code and a message only.
fn is_batch_failure(exchange: &Exchange) -> bool {
    exchange.failure().is_some()
        && exchange
            .body()
            .and_then(|body| body.get("error")?.as_object())
            .is_some_and(|error| error.keys().all(|name| name == "code" || name == "message"))
}

async fn empty(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    for tool in &run.adapter.endpoints {
        for operations in [json!([]), json!({}), json!("conformance")] {
            let sent = json!({ "operations": operations });
            let Some(exchange) = run.refused(&tool.name, sent, cases).await else { return };
            cases.expect(is_batch_failure(&exchange), || {
                Finding::of(
                    &exchange,
                    &tool.name,
                    "a failure such as BATCH_VALIDATION_ERROR, with `code` and `message` only",
                    "check that `operations` is a list with at least one item",
                )
            });
        }
    }
}

/// Whether a message about an item of a batch names the item or the form of items.
fn says_item(message: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = message.split(|letter: char| !is_part(letter));
    message.contains("[0]") || words.any(|word| matches!(word, "operation" | "item" | "items"))
}

async fn item_form(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
    let name = items.first().and_then(|item| item.get("operation")).cloned().unwrap_or_default();
    for item in [name, json!(7), json!(null), json!([]), json!({}), json!({ "params": {} })] {
        let sent = json!({ "operations": [item] });
        let Some(exchange) = run.refused(&tool, sent, cases).await else { return };
        let inner = results(&exchange)
            .first()
            .and_then(|result| result.pointer("/result/error/message")?.as_str());
        let message = exchange.failure().map(|failure| failure.message).or(inner);
        // An MCP library may reject requests that violate the tool's schema.
        let is_unheard = matches!(exchange.reply, Reply::Protocol { .. });
        cases.expect(is_unheard || message.is_some_and(says_item), || {
            Finding::of(
                &exchange,
                format!("{tool}: {item}"),
            "a failure of the batch or of the item whose message describes an item: an object with \
             `operation` and optional `params`",
                "check the form of every item, and describe the valid form in the message",
            )
        });
    }
}

async fn invalid_text(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
    let Some(first) = items.into_iter().next() else { return };
    let mut bad = first.clone();
    if let Some(params) = bad.get_mut("params").and_then(Value::as_object_mut) {
        params.insert("_conformance".to_owned(), json!("a\u{0}b"));
    }
    let sent = vec![first.clone(), bad, first];
    let Some(exchange) = send(run, &tool, sent, cases).await else { return };
    let outcomes: Vec<_> = results(&exchange).into_iter().map(succeeded).collect();
    if outcomes.first() == Some(&Some(false)) {
        return cases.skip(Skip::NoFixture("no READ operation succeeds".to_owned()));
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

async fn extra_member(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
    let operation = items.first().and_then(|item| item.get("operation")).cloned();
    for (name, value) in [
        ("conformance_probe", json!(1)),
        ("params", json!({})),
        ("operation", operation.unwrap_or_default()),
    ] {
        let sent = json!({ "operations": items, name: value });
        let Some(exchange) = run.refused(&tool, sent, cases).await else { return };
        cases.expect(is_batch_failure(&exchange), || {
            Finding::of(
                &exchange,
                format!("{tool}: {name}"),
                "a failure such as BATCH_VALIDATION_ERROR, with `code` and `message` only",
                "reject members beside `operations` instead of ignoring them",
            )
        });
    }
}

async fn max_operations(run: &Run, cases: &Cases) {
    /// The maximum number of items that the check sends.
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
    // Each item fails on its own because the operation does not exist.
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
            Finding::of(
                &exchange,
                format!("a batch of {count} items"),
                match is_allowed {
                    true => format!("{count} results: `max_batch_operations` allows this number of items"),
                    false => format!("a failure: `max_batch_operations` is {stated}"),
                },
                "state the number of items that the adapter accepts, and reject larger batches as a whole",
            )
        });
    }
}

async fn mixed(run: &Run, cases: &Cases) {
    if is_without(run, cases).await {
        return;
    }
    let Some((tool, items)) = reading(run, cases) else { return };
    let Some(first) = items.into_iter().next() else { return };
    // The item cannot succeed even if it is routed, because it lacks a required parameter.
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
    cases.expect(is_orderly, || {
        Finding::of(
            &exchange,
            format!("{tool}: {}", other.name),
            "a failure of the batch, or of the item of the other family",
            "check the family of every item, or route each item to its own family",
        )
    });
}

/// Returns an operation that requires confirmation and parameters that match no data. Skips the case if the
/// adapter has no such operation.
async fn gated<'a>(run: &'a Run, cases: &Cases) -> Option<(&'a Operation, Map<String, Value>)> {
    if is_without(run, cases).await {
        return None;
    }
    let order = [Category::Delete, Category::Execute, Category::Update];
    let operations = order.into_iter().flat_map(|category| run.adapter.of(category));
    let mut left = None;
    for operation in operations {
        if !operation.required().any(|parameter| is_identifier(&parameter.name)) {
            continue;
        }
        if let Some(why) = run.forbids(operation) {
            left = Some(why);
            continue;
        }
        let Ok(params) = run.with_missing_ids(operation) else { continue };
        let exchange = run.call(operation, params.clone(), cases).await?;
        if exchange.code() == Some("CONFIRMATION_REQUIRED") {
            return Some((operation, params));
        }
    }
    match left {
        Some(why) => cases.skip(why),
        None => super::confirmation::none(run, cases).await,
    }
    None
}

/// Sends a batch that halts: one READ item if the same tool has one, then the gated item twice.
async fn halted(run: &Run, cases: &Cases) -> Option<(Exchange, usize, Value)> {
    let (operation, params) = gated(run, cases).await?;
    let mut items: Vec<_> = reading(run, cases)
        .filter(|(tool, _)| *tool == operation.tool)
        .and_then(|(_, items)| items.into_iter().next())
        .into_iter()
        .collect();
    let at = items.len();
    let gated = item(&operation.name, params);
    items.extend([gated.clone(), gated.clone()]);
    let exchange = send(run, &operation.tool, items, cases).await?;
    Some((exchange, at, gated))
}

async fn halts(run: &Run, cases: &Cases) {
    let Some((exchange, at, gated)) = halted(run, cases).await else { return };
    let member = |path: &str| exchange.body().and_then(|body| body.pointer(path));
    // Adapters may also continue without the item.
    if results(&exchange)
        .iter()
        .any(|result| result.get("status").is_some_and(|status| status == "pending_confirmation"))
    {
        return cases.not_applicable("batches skip items that need confirmation, and continue");
    }
    let code = member("/halted_at/result/error/code");
    let holds = exchange.succeeded()
        && member("/halted_at/index").and_then(Value::as_u64) == Some(at as u64)
        && member("/halted_at/operation") == gated.get("operation")
        && code.is_some_and(|code| code == "CONFIRMATION_REQUIRED")
        && results(&exchange).len() == at
        && member("/pending_operations/0/index").and_then(Value::as_u64) == Some(at as u64 + 1)
        && member("/pending_operations/0/params") == gated.get("params")
        && count(&exchange, "halted") == Some(1)
        && count(&exchange, "pending") == Some(1)
        && count(&exchange, "failed") == Some(0);
    cases.expect(holds, || {
        Finding::of(
            &exchange,
            gated.get("operation").and_then(Value::as_str).unwrap_or_default(),
            format!(
                "`success: true`, `results` of the {at} items before, `halted_at` with index {at}, \
                 `pending_operations` with the one behind, and a summary that counts 1 halted, 1 \
                 pending and none failed"
            ),
            "halt a batch at the item that needs confirmation, and return the pending items",
        )
    });
}

async fn pending_whole(run: &Run, cases: &Cases) {
    let Some((operation, params)) = gated(run, cases).await else { return };
    let first = item(&operation.name, params.clone());
    // The token does not need to be valid: the item never runs.
    let second = item(&operation.name, confirmed(operation, params, "conf_conformance"));
    let sent = vec![first, second.clone()];
    let Some(exchange) = send(run, &operation.tool, sent, cases).await else { return };
    let pending = exchange.body().and_then(|body| body.pointer("/pending_operations/0/params"));
    let Some(pending) = pending else {
        return cases
            .skip(Skip::NoFixture("a batch that halts and returns its pending items".to_owned()));
    };
    cases.expect(Some(pending) == second.get("params"), || {
        Finding::of(
            &exchange,
            &operation.name,
            format!(
                "`pending_operations` with the params unchanged: {}",
                second.get("params").unwrap_or(&Value::Null)
            ),
            "return every member of an item's params, including `_confirmation`: clients make the next \
             batch from them",
        )
    });
}

async fn continues(run: &Run, cases: &Cases) {
    let Some((exchange, _, mut gated)) = halted(run, cases).await else { return };
    let body = exchange.body();
    let token = body.and_then(|body| {
        body.pointer("/halted_at/result/error/details/confirmation_token")?.as_str()
    });
    let Some(token) = token.map(str::to_owned) else {
        return cases.skip(Skip::NoFixture("a batch did not halt with a token".to_owned()));
    };
    let name = gated.get("operation").and_then(Value::as_str).unwrap_or_default();
    let operation = run.adapter.operation(name);
    if let Some((operation, params)) =
        operation.zip(gated.get_mut("params").and_then(Value::as_object_mut))
    {
        *params = confirmed(operation, std::mem::take(params), &token);
    }
    let tool = exchange.tool.clone();
    let Some(next) = send(run, &tool, vec![gated.clone()], cases).await else { return };
    let code = results(&next)
        .first()
        .and_then(|result| result.pointer("/result/error/code")?.as_str())
        .unwrap_or_default();
    // The operation runs and fails because the parameters match no data.
    let ran = !results(&next).is_empty()
        && !code.starts_with("TOKEN_")
        && code != "CONFIRMATION_REQUIRED";
    cases.expect(ran, || {
        Finding::of(
            &next,
            gated.get("operation").and_then(Value::as_str).unwrap_or_default(),
            "the operation to run, because its item has the issued token",
            "accept the token of a halted batch in the params of the item, in another batch",
        )
    });
}
