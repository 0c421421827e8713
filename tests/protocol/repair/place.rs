//! Reads and writes values at the paths in error messages, such as `customer.address` or `lines[0].quantity`.

use serde_json::{Map, Value};

/// A step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Member(String),
    Item(usize),
}

/// Parses a path. Prefers existing members of the value, because their names may contain dots.
///
/// ```text
/// lines[0].quantity → Member("lines"), Item(0), Member("quantity")
/// ```
pub(super) fn parse(value: &Value, path: &str) -> Vec<Step> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return Vec::new();
    }
    if let Some((index, rest)) = path.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let index = index.parse().unwrap_or(0);
        let inner = value.get(index).unwrap_or(&Value::Null);
        return [vec![Step::Item(index)], parse(inner, rest)].concat();
    }
    let known = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let fits = |name: &&str| {
        path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let name = known.filter(fits).max_by_key(|name| name.len());
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let name = name.unwrap_or(&path[..end]);
    let inner = value.get(name).unwrap_or(&Value::Null);
    [vec![Step::Member(name.to_owned())], parse(inner, &path[name.len()..])].concat()
}

pub(super) fn get<'a>(value: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Member(name) => value.get(name),
        Step::Item(index) => value.get(index),
    })
}

pub(super) fn get_mut<'a>(value: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Member(name) => value.get_mut(name),
        Step::Item(index) => value.get_mut(index),
    })
}

/// Removes a value and returns it.
pub(super) fn take(value: &mut Value, steps: &[Step]) -> Option<Value> {
    let (last, around) = steps.split_last()?;
    match (get_mut(value, around)?, last) {
        (Value::Object(members), Step::Member(name)) => members.remove(name),
        (Value::Array(items), Step::Item(index)) if *index < items.len() => {
            Some(items.remove(*index))
        }
        _ => None,
    }
}

/// Sets a value. Creates missing objects and lists around it.
pub(super) fn set(value: &mut Value, steps: &[Step], new: Value) {
    let Some((first, rest)) = steps.split_first() else {
        *value = new;
        return;
    };
    let inner = match first {
        Step::Member(name) => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            let members = value.as_object_mut().expect("it is an object");
            members.entry(name.clone()).or_insert(Value::Null)
        }
        Step::Item(index) => {
            if !value.is_array() {
                *value = Value::Array(Vec::new());
            }
            let items = value.as_array_mut().expect("it is a list");
            while items.len() <= *index {
                items.push(Value::Null);
            }
            &mut items[*index]
        }
    };
    set(inner, rest, new);
}

/// Returns the paths of all values inside a value.
pub(super) fn all(value: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    let inner: Vec<(Step, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (Step::Member(name.clone()), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (Step::Item(index), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, value) in inner {
        found.push(vec![step.clone()]);
        found.extend(all(value).into_iter().map(|rest| [vec![step.clone()], rest].concat()));
    }
    found
}
