//! Parses `aggregate`.

use serde_json::Value;

use super::{QueryFaults, QuerySurface, object};
use crate::field_info::FieldInfo;
use crate::plan::{Aggregate, Function};

/// The maximum number of aggregates in a request.
const MAX_LABELS: usize = 20;
/// The maximum length of a label in characters.
const MAX_LABEL_CHARS: usize = 64;

/// The keys of an expression (REQ-AGG-02).
pub(crate) const KEYS: [&str; 6] = ["count", "group_by", "sum", "avg", "min", "max"];

/// Parses `aggregate`.
pub(super) fn read(
    surface: &QuerySurface<'_>,
    value: &Value,
    faults: &mut QueryFaults,
) -> Vec<Aggregate> {
    let Some(labels) = object("aggregate", value, faults) else { return Vec::new() };
    if labels.is_empty() || labels.len() > MAX_LABELS {
        let what = format!("must have 1 to {MAX_LABELS} labels");
        faults.refuse("aggregate", &what, "an object: label to expression");
        return Vec::new();
    }
    labels.iter().filter_map(|(label, value)| one(surface, label, value, faults)).collect()
}

fn one(
    surface: &QuerySurface<'_>,
    label: &str,
    value: &Value,
    faults: &mut QueryFaults,
) -> Option<Aggregate> {
    let path = format!("aggregate.{label}");
    if label.trim().is_empty() || label.chars().count() > MAX_LABEL_CHARS {
        let what = format!("must have labels of 1 to {MAX_LABEL_CHARS} characters");
        faults.refuse("aggregate", &what, "a label such as 'total'");
        return None;
    }
    let Some(members) = value.as_object() else {
        faults.wrong_form(&path, "object", value, Some("{ count: true }"));
        return None;
    };
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
                faults.unknown(&format!("aggregate.{label}"), "function", unknown, &KEYS);
                sound = false;
            }
        }
    }
    if sound && functions.is_empty() {
        faults.refuse(
            &path,
            "computes nothing: add 'count': true, or 'sum', 'avg', 'min' or 'max' with a field",
            "one function or more",
        );
        return None;
    }
    // In a fixed order, independent of the request.
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
    let Value::String(name) = value else {
        faults.wrong_type(path, "string", value);
        return None;
    };
    let offered = |field: &FieldInfo| wanted(field) && surface.selects(&field.path);
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
