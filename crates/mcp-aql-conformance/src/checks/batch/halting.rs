//! Checks of batches that halt at an item that needs confirmation.

use serde_json::{Map, Value};

use super::{count, is_without, item, reading, results, send};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::items::confirmed;
use crate::nouns::is_identifier;
use crate::run::Run;

/// Returns an operation that requires confirmation, with parameters that match no data.
///
/// If the adapter looks for the data before it asks for confirmation, the parameters identify an item of the run. Skips
/// the case if the adapter has no such operation.
async fn gated<'a>(run: &'a Run, cases: &Cases) -> Option<(&'a Operation, Map<String, Value>)> {
    if is_without(run, cases).await {
        return None;
    }
    let order = [Category::Delete, Category::Execute, Category::Update];
    let operations = order.into_iter().flat_map(|category| run.adapter.of(category));
    let operations = operations.filter(|operation| operation.is_exercised);
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
        None => {
            let asked = crate::checks::confirmation::ask(run, cases).await?;
            return Some((asked.operation, asked.params));
        }
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

pub(super) async fn halts(run: &Run, cases: &Cases) {
    let Some((exchange, at, gated)) = halted(run, cases).await else { return };
    let member = |path: &str| exchange.body().and_then(|body| body.pointer(path));
    // Adapters may also skip the item and continue.
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
        Finding::of(&exchange, gated.get("operation").and_then(Value::as_str).unwrap_or_default())
            .expected(format!(
                "`success: true`, `results` of the first {at} items, `halted_at` with index {at}, \
                 `pending_operations` with the item after it, and a summary of 1 halted, 1 pending \
                 and no failed item"
            ))
    });
}

pub(super) async fn pending_whole(run: &Run, cases: &Cases) {
    let Some((operation, params)) = gated(run, cases).await else { return };
    let first = item(&operation.name, params.clone());
    // The token need not be valid, because the item never runs.
    let second = item(&operation.name, confirmed(operation, params, "conf_conformance"));
    let sent = vec![first, second.clone()];
    let Some(exchange) = send(run, &operation.tool, sent, cases).await else { return };
    let pending = exchange.body().and_then(|body| body.pointer("/pending_operations/0/params"));
    let Some(pending) = pending else {
        return cases.skip_without("a batch that halts and returns its pending items");
    };
    cases.expect(Some(pending) == second.get("params"), || {
        Finding::of(&exchange, &operation.name).expected(format!(
            "`pending_operations` with the params unchanged: {}",
            second.get("params").unwrap_or(&Value::Null)
        ))
    });
}

pub(super) async fn continues(run: &Run, cases: &Cases) {
    let Some((exchange, _, mut gated)) = halted(run, cases).await else { return };
    let body = exchange.body();
    let token = body.and_then(|body| {
        body.pointer("/halted_at/result/error/details/confirmation_token")?.as_str()
    });
    let Some(token) = token.map(str::to_owned) else {
        return cases.skip_without("a batch did not halt with a token");
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
    // The operation runs and fails, because the parameters match no data.
    let ran = !results(&next).is_empty()
        && !code.starts_with("TOKEN_")
        && code != "CONFIRMATION_REQUIRED";
    cases.expect(ran, || {
        Finding::of(&next, gated.get("operation").and_then(Value::as_str).unwrap_or_default())
    });
}
