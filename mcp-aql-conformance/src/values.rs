//! Values for parameters: valid ones from what introspection says, and ones that have to be refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::cases::Skip;
use crate::learn::{Operation, Parameter};
use crate::run::Run;

/// So many values are kept of each name.
const MOST_HARVESTED: usize = 8;

/// Parameters with which an operation can be called: those that it requires.
pub(crate) fn valid(run: &Run, operation: &Operation) -> Result<Map<String, Value>, Skip> {
    let mut params = Map::new();
    if let Some(given) = run.settings.file.params.get(&operation.name) {
        params.extend(given.clone());
    }
    for parameter in operation.required() {
        if params.contains_key(&parameter.name) {
            continue;
        }
        let value = of(run, operation, parameter).ok_or_else(|| {
            Skip::NoFixture(format!(
                "a value for `{}`: give one under [params.{}]",
                parameter.name, operation.name
            ))
        })?;
        params.insert(parameter.name.clone(), value);
    }
    Ok(params)
}

/// A value for one parameter: as configured, as seen in results, as in examples, or made.
pub(crate) fn of(run: &Run, operation: &Operation, parameter: &Parameter) -> Option<Value> {
    let file = &run.settings.file;
    let configured = file
        .params
        .get(&operation.name)
        .and_then(|params| params.get(&parameter.name))
        .or_else(|| file.values.get(&parameter.name));
    if let Some(value) = configured {
        return Some(value.clone());
    }
    if is_identifier(&parameter.name)
        && let Some(value) =
            run.harvested(&parameter.name).into_iter().find(|value| accepts(parameter, value))
    {
        return Some(value);
    }
    if let Some(value) = parameter.member("default") {
        return Some(value.clone());
    }
    let examples = operation.details().get("examples").and_then(Value::as_array);
    let shown = examples
        .into_iter()
        .flatten()
        .find_map(|example| example.pointer("/request/params")?.get(&parameter.name));
    shown.cloned().or_else(|| made(parameter))
}

/// Whether a name is one of an identifier, which cannot be made up.
pub(crate) fn is_identifier(name: &str) -> bool {
    name == "id" || name.ends_with("_id") || name.ends_with("_name") || name.ends_with("_key")
}

/// A value made from the constraints that introspection shows.
pub(crate) fn made(parameter: &Parameter) -> Option<Value> {
    if let Some(words) = parameter.member("enum").and_then(Value::as_array) {
        return words.first().cloned();
    }
    let number = |name: &str| parameter.member(name).and_then(Value::as_f64);
    match parameter.kind.as_str() {
        "string" => {
            let least = number("minLength").unwrap_or(1.0).max(1.0);
            Some(Value::String("x".repeat(least as usize)))
        }
        "integer" => Some(json!(number("minimum").unwrap_or(1.0).ceil() as i64)),
        "number" => Some(json!(number("minimum").unwrap_or(1.0))),
        "boolean" => Some(json!(true)),
        "array" => Some(json!([])),
        "object" => Some(json!({})),
        _ => None,
    }
}

/// Whether a value has the type and the constraints that introspection shows.
pub(crate) fn accepts(parameter: &Parameter, value: &Value) -> bool {
    match parameter.kind.as_str() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Keeps what a result holds by its names, to ask for it later.
pub(crate) fn harvest(data: &Value, found: &mut BTreeMap<String, Vec<Value>>) {
    match data {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Object(_) | Value::Array(_) => harvest(value, found),
                    Value::Null => {}
                    _ => {
                        let values = found.entry(name.clone()).or_default();
                        if values.len() < MOST_HARVESTED && !values.contains(value) {
                            values.push(value.clone());
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            items.iter().take(MOST_HARVESTED).for_each(|item| harvest(item, found))
        }
        _ => {}
    }
}
