//! Suggests what to send instead of a value of the wrong type.

use serde_json::{Map, Value};

use super::faults::Faults;
use super::sketch::{rule, sketch};
use super::{Kind, Path, Rest, Shape, Shapes, type_name};
use crate::text::parsed_json;

/// Describes how to send a value of the wrong type. The hint never repeats the value, because it may be a secret.
///
/// ```text
/// 2.5 for an integer     →  Send a whole number
/// ["a"] for a string     →  Send one value, not a list
/// "yes" for a boolean    →  Send true or false
/// ```
pub(super) fn type_hint(
    shape: &Shape,
    value: &Value,
    path: Path<'_>,
    shapes: &Shapes,
) -> Option<String> {
    if let Some(change) = change_of_value(shape, value, path, shapes) {
        return Some(change.to_owned());
    }
    let target = shape.resolve(shapes);
    if let Kind::Array(items) = &target.kind
        && items.has_type_of(value, shapes)
        && !value.is_null()
        && has_required(items, value, shapes)
    {
        return Some(format!("Send a list: {}", sketch(shape, shapes)));
    }
    match &target.kind {
        Kind::Boolean => Some("Send true or false".to_owned()),
        Kind::Object(object)
            if shape.form.is_none()
                && object.fields.is_empty()
                && !matches!(object.rest, Rest::Each(_)) =>
        {
            None
        }
        Kind::Object(_) | Kind::Union(_) | Kind::Array(_) | Kind::Tuple(_) => {
            Some(format!("Send {}", sketch(shape, shapes)))
        }
        _ => rule(shape, shapes).map(|rule| {
            let name = type_name(shape, shapes);
            let article = if name.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
            format!("Send {article} {name}, {rule}")
        }),
    }
}

/// Returns a change of the value that corrects its type.
fn change_of_value(
    shape: &Shape,
    value: &Value,
    path: Path<'_>,
    shapes: &Shapes,
) -> Option<&'static str> {
    let accepts = |value: &Value| shape.has_type_of(value, shapes);
    let accepts_text = |text: &str| Faults::accepts(shape, &Value::from(text), path, shapes);
    match value {
        Value::String(text) if is_json_of(text, accepts) => {
            Some("Send it as JSON, not as a string")
        }
        Value::Number(_) | Value::Bool(_)
            if shape.form.is_none() && accepts_text(&value.to_string()) =>
        {
            Some("Send it as a string, in quotation marks")
        }
        Value::Number(number) if number.is_f64() && accepts(&Value::from(0)) => {
            Some("Send a whole number")
        }
        Value::Array(values) => match values.as_slice() {
            [only] if Faults::accepts(shape, only, path, shapes) => {
                Some("Send one value, not a list")
            }
            [_, ..] if matches!(path, Path::Item(..)) && values.iter().all(accepts) => {
                Some("Send its items directly in the outer list")
            }
            _ => None,
        },
        Value::Object(members) => {
            let mut values = members.values();
            let only = values.next().filter(|_| values.next().is_none());
            let accepts = |value: &&Value| {
                is_replacement(members) && Faults::accepts(shape, value, path, shapes)
            };
            only.filter(accepts).map(|_| "Send the value alone, without an object")
        }
        _ => None,
    }
}

/// Returns `true` unless the object only describes a change of a value. Such objects have members like `add` or
/// `$push`.
fn is_replacement(members: &Map<String, Value>) -> bool {
    const CHANGES: [&str; 9] =
        ["add", "append", "insert", "prepend", "pull", "push", "remove", "delete", "addToSet"];
    members.keys().all(|name| !CHANGES.contains(&name.trim_start_matches('$')))
}

/// Returns `true` if a value has the required fields of an object.
fn has_required(shape: &Shape, value: &Value, shapes: &Shapes) -> bool {
    match (&shape.resolve(shapes).kind, value) {
        (Kind::Object(object), Value::Object(members)) => {
            object.fields.iter().all(|(name, field)| !field.required || members.contains_key(name))
        }
        (Kind::Union(variants), _) => {
            variants.iter().any(|variant| has_required(variant, value, shapes))
        }
        _ => true,
    }
}

/// Returns `true` if a string contains the JSON of a value of the right type.
fn is_json_of(text: &str, accepts: impl Fn(&Value) -> bool) -> bool {
    parsed_json(text).is_some_and(|value| !value.is_null() && accepts(&value))
}

#[cfg(test)]
mod tests {
    use super::super::Compiler;
    use super::*;
    use serde_json::json;

    #[test]
    fn each_wrong_type_names_the_next_step() {
        // REQ-ERR-05
        let object = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
        let words = json!({"type": "array", "items": {"type": "string"}});
        for (schema, value, expected) in [
            (&object, json!(r#"{"x": 1}"#), Some("Send it as JSON, not as a string")),
            (&object, json!("x=1"), Some("Send { x?: integer }")),
            (&words, json!("a"), Some("Send a list: [string]")),
            (&words, json!(7), Some("Send [string]")),
            (&json!({"type": "string"}), json!(7), Some("Send it as a string, in quotation marks")),
            (&json!({"type": "string"}), json!(["a"]), Some("Send one value, not a list")),
            (
                &json!({"type": "string"}),
                json!({"value": "a"}),
                Some("Send the value alone, without an object"),
            ),
            (&json!({"type": "string"}), json!([]), None),
            (&words, json!({"items": ["a"]}), Some("Send the value alone, without an object")),
            (&words, json!({"add": ["a"]}), Some("Send [string]")),
            (&object, json!([{"op": "add", "path": "/x"}]), Some("Send { x?: integer }")),
            (&object, json!([{"x": 1}]), Some("Send one value, not a list")),
            (&json!({"enum": ["a", "b"]}), json!([]), Some("Send a string, one of: a, b")),
            (&json!({"type": "integer"}), json!(1.5), Some("Send a whole number")),
            (&json!({"type": "integer"}), json!("7"), Some("Send it as JSON, not as a string")),
            (&json!({"type": "boolean"}), json!("yes"), Some("Send true or false")),
        ] {
            let shape = Compiler::default().schema(schema);
            let hint = type_hint(&shape, &value, Path::Root("x"), &Shapes::new());
            assert_eq!(hint.as_deref(), expected, "{schema} {value}");
        }
    }
}
