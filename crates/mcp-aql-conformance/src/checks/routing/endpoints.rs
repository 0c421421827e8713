//! Checks of calls through the tool of another family.

use serde_json::{Map, Value, json};

use crate::adapter::{Operation, tool_parts};
use crate::cases::Cases;
use crate::checks::planned::{CallReply, PlannedCall};
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

/// Plans a call of an operation through this tool with an unknown parameter.
///
/// The call fails even if the adapter does not check the tool or checks the parameters first.
fn call_through<'r>(run: &Run, operation: &'r Operation, tool: &'r str) -> PlannedCall<'r> {
    let unknown = Map::from_iter([(run.absent_parameter(operation), true.into())]);
    PlannedCall::invalid(operation, unknown).through(tool)
}

/// Plans calls of every operation through each other tool.
pub(super) fn misrouted<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    if run.adapter.endpoints.len() < 2 {
        cases.not_applicable("the adapter has one tool");
    }
    let calls = routed(run).flat_map(|operation| {
        let tools = run.adapter.endpoints.iter().map(|tool| tool.name.as_str());
        let others = tools.filter(|tool| *tool != operation.tool);
        others.map(move |tool| {
            call_through(run, operation, tool).word("tool", operation.tool.as_str())
        })
    });
    calls.collect()
}

pub(super) fn names_tool(it: &CallReply<'_>) -> Option<bool> {
    let operation = it.call.operation;
    Some(it.failure().is_some_and(|failure| {
        let expected = failure.details.get("expected_endpoint").and_then(Value::as_str);
        let mut words = failure.message.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.any(|word| word == operation.tool)
            || expected.is_some_and(|it| it == operation.endpoint || it == operation.tool)
    }))
}

/// Plans a call of every operation through one other tool.
pub(super) fn misrouted_once<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let mut calls = misrouted(run, cases);
    calls.dedup_by_key(|call| call.operation.name.as_str());
    let with_details = |call: PlannedCall<'r>| {
        let actual = tool_parts(call.tool()).and_then(|(_, family)| family).unwrap_or_default();
        let details = json!({
            "operation": call.operation.name,
            "expected_endpoint": call.operation.endpoint,
            "actual_endpoint": actual,
        });
        call.word("details", details.to_string())
    };
    calls.into_iter().map(with_details).collect()
}

pub(super) fn has_details(it: &CallReply<'_>) -> Option<bool> {
    let wanted: Map<String, Value> = serde_json::from_str(it.call.text("details")).ok()?;
    Some(it.failure().is_some_and(|failure| {
        failure.code == "VALIDATION_ENDPOINT_MISMATCH"
            && wanted.iter().all(|(name, value)| failure.details.get(name) == Some(value))
    }))
}

/// Plans calls of every operation through its own tool.
pub(in crate::checks) fn routed_right<'r>(run: &'r Run, _: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = run.adapter.exercised();
    calls.map(|operation| call_through(run, operation, &operation.tool).about("")).collect()
}

pub(in crate::checks) fn is_known(it: &CallReply<'_>) -> Option<bool> {
    let is_unknown = matches!(it.code(), "NOT_FOUND_OPERATION" | "VALIDATION_ENDPOINT_MISMATCH");
    Some(it.reply.body().is_some() && !is_unknown)
}

/// Plans calls with the names of operations in another spelling.
pub(super) fn respelled<'r>(run: &'r Run, _: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = run.adapter.exercised().flat_map(|operation| {
        let names = [operation.name.to_ascii_uppercase(), operation.name.replace('_', "-")];
        let unused = names.into_iter().filter(|name| run.adapter.operation(name).is_none());
        unused.map(move |name| {
            let params = json!({ run.absent_parameter(operation): true });
            let sent = json!({ "operation": name, "params": params });
            PlannedCall::invalid(operation, Map::new()).sending(sent).word("name", name)
        })
    });
    calls.collect()
}

pub(super) fn is_unknown(it: &CallReply<'_>) -> Option<bool> {
    let code = it.code();
    // A name with hyphens may be rejected for its form.
    let is_malformed =
        it.call.text("name").contains('-') && !code.is_empty() && !code.ends_with("_PARAM");
    Some(code == "NOT_FOUND_OPERATION" || is_malformed)
}
