//! Parses `aggregate`.

use mcp_aql_core::internal::text::clean;
use serde_json::{Map, Value};

use super::faults::PARAMETERS;
use super::filter_hints::around;
use super::{QueryFaults, QuerySurface, object};
use crate::field_info::FieldInfo;
use crate::plan::{Aggregate, Function};

/// Maximum number of aggregates in a request.
const MAX_LABELS: usize = 20;
/// Maximum length of a label in characters.
const MAX_LABEL_CHARS: usize = 64;

/// The keys of an expression (REQ-AGG-02).
pub(crate) const KEYS: [&str; 6] = ["count", "group_by", "sum", "avg", "min", "max"];

/// Names that callers use for a superfluous level around the labels.
const WRAPPERS: [&str; 6] = ["value", "values", "aggregate", "aggregates", "labels", "data"];

/// Parses `aggregate`: an object with a label for each aggregate.
///
/// ```json
/// { "hours": { "group_by": "project", "sum": "hours", "count": true } }
/// ```
pub(super) fn read(
    surface: &QuerySurface<'_>,
    value: &Value,
    faults: &mut QueryFaults,
) -> Vec<Aggregate> {
    let Some(labels) = object("aggregate", value, faults) else { return Vec::new() };
    if labels.is_empty() || labels.len() > MAX_LABELS {
        let what =
            format!("must have 1 to {MAX_LABELS} labels. Send {{ total: {{ count: true }} }}");
        faults.refuse("aggregate", &what, "an object: label to expression");
        return Vec::new();
    }
    if is_expression(value) && labels.values().all(|value| !value.is_object()) {
        let what = format!("has functions instead of labels. Send {}", labeled(labels));
        faults.refuse("aggregate", &what, "an object: label to expression");
        return Vec::new();
    }
    if let Some(label) = only_label(labels) {
        let is_flat = |(name, value): &(&String, &Value)| is_function(name) && !value.is_object();
        let flat: Vec<_> = labels.iter().filter(is_flat).map(|(name, _)| name.as_str()).collect();
        for name in &flat {
            let what = format!(
                "has '{name}' as a label. 'aggregate.{name}' belongs inside 'aggregate.{label}': {{ {label}: {{ {name} }} }}",
                label = clean(label),
            );
            faults.refuse("aggregate", &what, "an object: label to expression");
        }
        if !flat.is_empty() {
            return Vec::new();
        }
    }
    labels.iter().filter_map(|(label, value)| one(surface, label, value, faults)).collect()
}

/// Adds a label to functions sent without one, as a suggestion for the caller: `{ result: { sum: 'total' }
/// }`.
fn labeled(functions: &Map<String, Value>) -> String {
    let mut members: Vec<_> = functions
        .iter()
        .map(|(name, value)| match value {
            Value::Bool(value) => format!("{name}: {value}"),
            Value::String(field) => format!("{name}: '{}'", clean(field)),
            _ => name.clone(),
        })
        .collect();
    if functions.keys().all(|name| name == "group_by") {
        members.push("count: true".to_owned());
    }
    format!("{{ result: {{ {} }} }}", members.join(", "))
}

/// Returns the label with an expression, if there is exactly one.
fn only_label(labels: &Map<String, Value>) -> Option<&str> {
    let mut objects = labels.iter().filter(|(_, value)| value.is_object());
    let (label, _) = objects.next()?;
    objects.next().is_none().then_some(label)
}

fn is_function(name: &str) -> bool {
    KEYS.contains(&name)
}

/// Returns `true` if a value is an expression: all of its keys are functions.
fn is_expression(value: &Value) -> bool {
    value.as_object().is_some_and(|it| !it.is_empty() && it.keys().all(|name| is_function(name)))
}

/// Reports an unknown function.
fn refuse_function(label: &str, name: &str, value: &Value, faults: &mut QueryFaults) {
    let path = format!("aggregate.{label}");
    // One of the two levels around an expression is superfluous.
    let superfluous = match WRAPPERS.contains(&label) {
        true => path.clone(),
        false => format!("{path}.{name}"),
    };
    let meaning = is_expression(value).then(|| around(&superfluous));
    faults.unknown_meaning(&path, "function", name, &KEYS, meaning);
}

/// Returns the functions of a label. Reports an error and returns `None` if the label or its value is
/// invalid.
fn expression<'v>(
    label: &str,
    path: &str,
    value: &'v Value,
    faults: &mut QueryFaults,
) -> Option<&'v Map<String, Value>> {
    if label.trim().is_empty() || label.chars().count() > MAX_LABEL_CHARS {
        let what = format!("must have labels of 1 to {MAX_LABEL_CHARS} characters");
        faults.refuse("aggregate", &what, "a label such as 'total'");
        return None;
    }
    if PARAMETERS.contains(&label) && !is_expression(value) {
        faults.inside("aggregate", "label", label, path);
        return None;
    }
    let members = value.as_object();
    if members.is_none() {
        faults.wrong_form(path, "object", value, Some("{ count: true }"));
    }
    members
}

fn one(
    surface: &QuerySurface<'_>,
    label: &str,
    value: &Value,
    faults: &mut QueryFaults,
) -> Option<Aggregate> {
    let path = format!("aggregate.{label}");
    let members = expression(label, &path, value, faults)?;
    let mut group_by = None;
    let mut functions = Vec::new();
    let mut sound = true;
    let has_min_max = &FieldInfo::supports_min_max;
    for (key, value) in members {
        let path = format!("{path}.{key}");
        let mut field = |verb: &str, wanted: &dyn Fn(&FieldInfo) -> bool| {
            let place = field_of(surface, &path, verb, value, wanted, faults);
            sound &= place.is_some();
            place
        };
        match key.as_str() {
            "count" => match value {
                Value::Bool(true) => functions.push(Function::Count),
                Value::Bool(false) => {}
                other => {
                    faults.wrong_type(&path, "boolean", other);
                    sound = false;
                }
            },
            "group_by" => group_by = field("grouped by", &|field| field.group),
            "sum" => functions.extend(field("added", &|field| field.numeric).map(Function::Sum)),
            "avg" => functions.extend(field("added", &|field| field.numeric).map(Function::Avg)),
            "min" => functions.extend(field("compared", has_min_max).map(Function::Min)),
            "max" => functions.extend(field("compared", has_min_max).map(Function::Max)),
            unknown => {
                refuse_function(label, unknown, value, faults);
                sound = false;
            }
        }
    }
    if sound && functions.is_empty() {
        let group = members.get("group_by").and_then(Value::as_str);
        let group = group.map(|field| format!("group_by: '{field}', ")).unwrap_or_default();
        let what = format!(
            "computes nothing: add 'count': true, or 'sum', 'avg', 'min' or 'max' with a field. \
             Send {{ {group}count: true }}"
        );
        faults.refuse(&path, &what, "one function or more");
        return None;
    }
    // Sort the functions, so that the reply does not depend on their order in the request.
    functions.sort_by_key(|function| KEYS.iter().position(|key| *key == function.name()));
    sound.then(|| Aggregate { label: label.to_owned(), group_by, functions })
}

fn field_of(
    surface: &QuerySurface<'_>,
    path: &str,
    verb: &str,
    value: &Value,
    wanted: &dyn Fn(&FieldInfo) -> bool,
    faults: &mut QueryFaults,
) -> Option<usize> {
    let offered = |field: &FieldInfo| wanted(field) && surface.selects(&field.path);
    let Value::String(name) = value else {
        let form = format!("a string, one of: {}", surface.paths(offered).join(", "));
        faults.wrong_form(path, "string", value, Some(&form));
        return None;
    };
    let place = surface.table.index_of(name);
    let place = place.filter(|place| surface.table.field(*place).is_some_and(offered));
    if place.is_none() {
        let valid = surface.paths(offered);
        if surface.table.has(name) {
            faults.unsupported(path, verb, name, &valid);
        } else {
            faults.unknown(path, "field", name, &valid);
        }
    }
    place
}
