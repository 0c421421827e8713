//! Splits the token counts of the most expensive items into parts.

use serde_json::Value;

use super::{Count, OF_THE_TASK, Parts, Texts};
use crate::Result;

pub(super) fn of(texts: &Texts, count: Count<'_>) -> Result<Vec<Parts>> {
    Ok(vec![
        of_tools("tools/list, semantic mode", &texts.semantic_tools, count)?,
        of_tools("tools/list, single mode", &texts.tools, count)?,
        of_tools("tools/list, discrete tools", &texts.peer_tools, count)?,
        of_list(&texts.list, count)?,
        of_details(texts, count)?,
        least(texts, count)?,
    ])
}

/// Returns the lower bound of the whole task in full: a conforming server cannot need fewer tokens.
///
/// Tools, instructions and list are unchanged. `_protocol` only has the version, and details have no optional members,
/// not even descriptions of parameters.
fn least(texts: &Texts, count: Count<'_>) -> Result<Parts> {
    let mut list: Value = serde_json::from_str(&texts.list)?;
    if let Some(protocol) = list.pointer_mut("/data/_protocol").and_then(Value::as_object_mut) {
        protocol.retain(|name, _| name == "version");
    }
    let details = OF_THE_TASK.iter().try_fold(0, |sum, name| -> Result<usize> {
        let text = texts.details.get(*name).ok_or("an operation has no details")?;
        Ok(sum + count(&required_alone(text)?))
    })?;
    let parts = vec![
        ("tools and instructions", count(&texts.tools) + count(&texts.instructions)),
        ("list", count(&list.to_string())),
        ("details", details),
    ];
    let sum = parts.iter().map(|(_, tokens)| tokens).sum();
    Ok(with_rest(LOWER_BOUND, sum, parts))
}

/// The name of the lower bound in the results.
pub(super) const LOWER_BOUND: &str = "whole task in full, with nothing that may be left out";

/// Returns the details of an operation with only the members that the protocol requires.
fn required_alone(details: &str) -> Result<String> {
    let mut reply: Value = serde_json::from_str(details)?;
    let operation = reply.pointer_mut("/data/operation").and_then(Value::as_object_mut);
    let operation = operation.ok_or("no details")?;
    operation.remove("examples");
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten().filter_map(Value::as_object_mut) {
        parameter.retain(|name, _| ["name", "type", "required"].contains(&name.as_str()));
    }
    Ok(reply.to_string())
}

/// Adds the tokens that belong to no part as the last part.
fn with_rest(of: &'static str, whole: usize, mut parts: Vec<(&'static str, usize)>) -> Parts {
    let known: usize = parts.iter().map(|(_, tokens)| tokens).sum();
    parts.push(("the rest", whole.saturating_sub(known)));
    Parts { of, parts }
}

fn of_tools(of: &'static str, text: &str, count: Count<'_>) -> Result<Parts> {
    let result: Value = serde_json::from_str(text)?;
    let tools = result.get("tools").and_then(Value::as_array).ok_or("no tools")?;
    let sum = |member: &str| sum(tools.iter().filter_map(|tool| tool.get(member)), count);
    let parts = vec![
        ("descriptions", sum("description")),
        ("input schemas", sum("inputSchema")),
        ("annotations", sum("annotations")),
    ];
    Ok(with_rest(of, count(text), parts))
}

fn of_list(text: &str, count: Count<'_>) -> Result<Parts> {
    let reply: Value = serde_json::from_str(text)?;
    let entries = reply.pointer("/data/operations").and_then(Value::as_array).ok_or("no list")?;
    let sum = |member: &str| sum(entries.iter().filter_map(|entry| entry.get(member)), count);
    let parts = vec![
        ("_protocol", reply.pointer("/data/_protocol").map_or(0, |it| count(&it.to_string()))),
        ("names", sum("name")),
        ("descriptions", sum("description")),
        ("categories and families", sum("semantic_category") + sum("endpoint")),
    ];
    Ok(with_rest("introspect: the list", count(text), parts))
}

/// Splits the details of ten operations into required and optional members.
fn of_details(texts: &Texts, count: Count<'_>) -> Result<Parts> {
    let (mut whole, mut required, mut described) = (0, 0, 0);
    for name in OF_THE_TASK {
        let text = texts.details.get(name).ok_or("an operation has no details")?;
        whole += count(text);
        required += count(&required_alone(text)?);
        let reply: Value = serde_json::from_str(text)?;
        let parameters = reply.pointer("/data/operation/parameters").and_then(Value::as_array);
        for parameter in parameters.into_iter().flatten() {
            let text = parameter.get("description").map(Value::to_string).unwrap_or_default();
            described += count(&format!(r#","description":{text}"#));
        }
    }
    let parts = vec![
        ("members that the protocol requires", required),
        ("descriptions of parameters", described),
    ];
    Ok(with_rest("introspect: ten operations in full", whole, parts))
}

fn sum<'a>(values: impl Iterator<Item = &'a Value>, count: Count<'_>) -> usize {
    values.map(|value| count(&value.to_string())).sum()
}
