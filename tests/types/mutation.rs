//! Changes one part of a value at a time.

use serde_json::{Value, json};

/// Returns all variants of a value in which one part has another JSON type, with the path of that part.
pub(crate) fn mutations(value: &Value) -> Vec<(Value, String)> {
    let other_type = |part: &Value| match part {
        Value::Null => None,
        Value::String(_) => Some(json!(-7.5)),
        _ => Some(json!("other")),
    };
    let mut mutations = Vec::new();
    visit(value, "value", &other_type, &mut |changed, path| mutations.push((changed, path)));
    mutations
}

/// Returns all variants of a value in which one object has an additional member.
pub(crate) fn additions(value: &Value) -> Vec<Value> {
    let with_member = |part: &Value| {
        let mut members = part.as_object()?.clone();
        members.insert("no_such_member".to_owned(), json!("another"));
        Some(members.into())
    };
    let mut additions = Vec::new();
    visit(value, "value", &with_member, &mut |changed, _| additions.push(changed));
    additions
}

/// Passes each variant with one changed part to `take`.
fn visit(
    value: &Value,
    path: &str,
    change: &dyn Fn(&Value) -> Option<Value>,
    take: &mut dyn FnMut(Value, String),
) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(item, &format!("{path}[{index}]"), change, &mut |changed, path| {
                    let mut items = items.clone();
                    items[index] = changed;
                    take(items.into(), path);
                });
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                visit(member, &format!("{path}.{name}"), change, &mut |changed, path| {
                    let mut members = members.clone();
                    members.insert(name.clone(), changed);
                    take(members.into(), path);
                });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    if let Some(changed) = change(value) {
        take(changed, path.to_owned());
    }
}
