//! Checks of calls through the tool of another family.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::adapter::{Operation, tool_parts};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::Run;

/// Returns the operations that belong to one tool.
///
/// Other tools may offer `introspect` as well, because every tool description shows how to call it.
fn routed(run: &Run) -> impl Iterator<Item = &Operation> {
    let is_registered =
        |name: &str| run.adapter.endpoints.iter().any(|endpoint| endpoint.name == name);
    run.adapter
        .exercised()
        .filter(move |operation| operation.name != "introspect" && is_registered(&operation.tool))
}

/// Sends an operation to another tool with an unknown parameter.
///
/// The call fails even if the adapter does not check the tool or checks the parameters first.
async fn misrouted(
    run: &Run,
    operation: &Operation,
    tool: &str,
    cases: &Cases,
) -> Option<Exchange> {
    let params = json!({ run.absent_parameter(operation): true });
    run.refused(tool, json!({ "operation": operation.name, "params": params }), cases).await
}

pub(super) async fn wrong_endpoint(run: &Run, cases: &Cases) {
    if run.adapter.endpoints.len() < 2 {
        return cases.not_applicable("the adapter has one tool");
    }
    let pairs = routed(run).flat_map(|operation| {
        let others = run.adapter.endpoints.iter().filter(|tool| tool.name != operation.tool);
        others.map(move |tool| (operation, tool))
    });
    join_all(pairs.map(|(operation, tool)| async move {
        let Some(exchange) = misrouted(run, operation, &tool.name, cases).await else { return };
        let names_it = exchange.failure().is_some_and(|failure| {
            let expected = failure.details.get("expected_endpoint").and_then(Value::as_str);
            words_of(failure.message).any(|word| word == operation.tool)
                || expected.is_some_and(|it| it == operation.endpoint || it == operation.tool)
        });
        cases.expect(names_it, || {
            Finding::of(&exchange, format!("{} through {}", operation.name, tool.name))
                .expected(format!("a failure whose message names `{}`", operation.tool))
        });
    }))
    .await;
}

/// Returns the words of a message without punctuation.
fn words_of(message: &str) -> impl Iterator<Item = &str> {
    message.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

pub(super) async fn wrong_endpoint_code(run: &Run, cases: &Cases) {
    if run.adapter.endpoints.len() < 2 {
        return cases.not_applicable("the adapter has one tool");
    }
    join_all(routed(run).map(|operation| async move {
        let other = run.adapter.endpoints.iter().find(|tool| tool.name != operation.tool);
        let Some(other) = other else { return };
        let Some(exchange) = misrouted(run, operation, &other.name, cases).await else { return };
        let actual = tool_parts(&other.name).and_then(|(_, family)| family).unwrap_or_default();
        let details = json!({
            "operation": operation.name,
            "expected_endpoint": operation.endpoint,
            "actual_endpoint": actual,
        });
        let holds = exchange.failure().is_some_and(|failure| {
            let has = |name: &str| failure.details.get(name) == details.get(name);
            failure.code == "VALIDATION_ENDPOINT_MISMATCH"
                && has("operation")
                && has("expected_endpoint")
                && has("actual_endpoint")
        });
        cases.expect(holds, || {
            Finding::of(&exchange, format!("{} through {}", operation.name, other.name))
                .expected(format!("VALIDATION_ENDPOINT_MISMATCH with details {details}"))
        });
    }))
    .await;
}

/// Calls an operation through its own tool with an unknown parameter. Returns the exchange, and `true` if the tool
/// knows the operation.
pub(in crate::checks) async fn recognised(
    run: &Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<(Exchange, bool)> {
    let exchange = misrouted(run, operation, &operation.tool, cases).await?;
    let is_known = exchange.body().is_some()
        && !matches!(exchange.code(), Some("NOT_FOUND_OPERATION" | "VALIDATION_ENDPOINT_MISMATCH"));
    Some((exchange, is_known))
}
