//! The brief form of a list entry: an operation's parameters as text in its description.

use std::fmt::Write as _;

use serde_json::Value;

use super::parameter_info::parameter_info;
use crate::operation::Parameter;
use crate::shape::{Kind, Members, ObjectShape, Rest, Shape, Shapes, describe, type_name};

/// The maximum depth to which objects are expanded.
const MAX_DEPTH: usize = 3;
/// The maximum length of an expanded object in bytes. A longer one is expanded to a smaller depth.
const MAX_FORM_BYTES: usize = 600;

/// Describes an operation and its parameters as text, one line for each parameter. A `?` marks
/// optional parameters. The text is a shorter form of the full details, which also shows the
/// fields of objects.
pub(super) fn brief(description: String, parameters: &[Parameter], shapes: &Shapes) -> String {
    let mut text = description;
    for parameter in parameters {
        let info = value_of(&parameter_info(parameter, shapes));
        let fields = fields_of(parameter, shapes);
        let description = match &parameter.shape.kind {
            // The usual description of an input lists the fields, which the form has.
            Kind::Object(object) if object.merge.is_some() && fields.is_some() => Some(INPUT),
            _ => info.get("description").and_then(Value::as_str),
        };
        text.push('\n');
        line(&info, fields.as_deref(), description, &mut text);
    }
    text
}

/// Lists the parameters without their descriptions: `title string, priority? integer 1..5`.
pub(super) fn signature(parameters: &[Parameter], shapes: &Shapes) -> String {
    let mut text = String::new();
    for parameter in parameters {
        text.push_str(if text.is_empty() { "" } else { ", " });
        let info = value_of(&parameter_info(parameter, shapes));
        line(&info, fields_of(parameter, shapes).as_deref(), None, &mut text);
    }
    text
}

/// The description of an `input` whose fields are shown.
const INPUT: &str = "Null removes an optional one.";

fn value_of(members: &Members) -> Value {
    serde_json::to_value(members).unwrap_or_default()
}

/// The fields of a parameter that is an object or contains objects, expanded as deeply as the
/// maximum length permits. A parameter whose type was chosen for display keeps it.
fn fields_of(parameter: &Parameter, shapes: &Shapes) -> Option<String> {
    if parameter.type_name.is_some() || !has_fields(&parameter.shape, shapes, MAX_DEPTH) {
        return None;
    }
    (1..=MAX_DEPTH)
        .rev()
        .map(|depth| expanded(&parameter.shape, shapes, depth))
        .find(|form| form.len() <= MAX_FORM_BYTES)
}

/// Whether a shape has fields or values that its type's name does not show.
fn has_fields(shape: &Shape, shapes: &Shapes, depth: usize) -> bool {
    match &shape.resolve(shapes).kind {
        Kind::Object(object) => !object.order.is_empty() || values_of(object, shapes).is_some(),
        Kind::Array(items) => depth > 0 && has_fields(items, shapes, depth - 1),
        Kind::Union(parts) | Kind::Tuple(parts) => {
            depth > 0 && parts.iter().any(|part| has_fields(part, shapes, depth - 1))
        }
        _ => false,
    }
}

/// Formats a shape with the fields of its objects: `{ city string, zip? string 5..5 long }`, a
/// map as `{ [name]: integer }`, the variants of a union separated by ` | `.
fn expanded(shape: &Shape, shapes: &Shapes, depth: usize) -> String {
    let target = shape.resolve(shapes);
    match &target.kind {
        Kind::Object(_) | Kind::Union(_) if depth == 0 => type_name(shape, shapes),
        Kind::Object(object) => object_form(object, shapes, depth),
        Kind::Array(items) => listed(&expanded(items, shapes, depth)),
        Kind::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| expanded(part, shapes, depth)).collect();
            format!("[{}]", parts.join(", "))
        }
        Kind::Union(parts) if has_fields(shape, shapes, MAX_DEPTH) => {
            let parts: Vec<_> = parts.iter().map(|part| expanded(part, shapes, depth)).collect();
            parts.join(" | ")
        }
        _ => {
            let mut described = Members::new();
            describe(shape, shapes, &mut described);
            let mut text = String::new();
            form(&value_of(&described), &mut text);
            text
        }
    }
}

fn object_form(object: &ObjectShape, shapes: &Shapes, depth: usize) -> String {
    let fields = object.order.iter().filter_map(|name| Some((name, object.fields.get(name)?)));
    let mut parts: Vec<_> = fields
        .map(|(name, field)| {
            let mark = if field.required { "" } else { "?" };
            let secret = if field.shape.sensitive { " sensitive" } else { "" };
            format!("{name}{mark} {}{secret}", expanded(&field.shape, shapes, depth - 1))
        })
        .collect();
    if let Some(each) = values_of(object, shapes) {
        parts.push(format!("[name]: {}", expanded(each, shapes, depth - 1)));
    }
    match parts.is_empty() {
        true => "object".to_owned(),
        false => format!("{{ {} }}", parts.join(", ")),
    }
}

/// The shape of a map's values, if it says more than that there are values.
fn values_of<'a>(object: &'a ObjectShape, shapes: &Shapes) -> Option<&'a Shape> {
    match &object.rest {
        Rest::Each(each) if !matches!(each.resolve(shapes).kind, Kind::Any) => Some(each),
        _ => None,
    }
}

/// Formats a list of items of this form.
fn listed(item: &str) -> String {
    let is_one = item.starts_with('{') && item.matches('{').count() == 1;
    match item.contains([' ', '|']) && !is_one {
        true => format!("({item})[]"),
        false => format!("{item}[]"),
    }
}

/// Formats a parameter: `limit? integer 1..100 = 50: How many at most.`
fn line(parameter: &Value, fields: Option<&str>, description: Option<&str>, text: &mut String) {
    text.push_str(parameter.get("name").and_then(Value::as_str).unwrap_or_default());
    if parameter.get("required") != Some(&Value::Bool(true)) {
        text.push('?');
    }
    text.push(' ');
    match fields {
        Some(fields) => text.push_str(fields),
        None => form(parameter, text),
    }
    if parameter.get("sensitive").is_some() {
        text.push_str(" sensitive");
    }
    if let Some(default) = parameter.get("default") {
        let _ = write!(text, " = {default}");
    }
    if let Some(description) = description {
        let _ = write!(text, ": {description}");
    }
}

/// Formats a type with its constraints: `string 1..200 long`, `todo|doing|done`, `integer[]`.
fn form(of: &Value, text: &mut String) {
    let kind = of.get("type").and_then(Value::as_str).unwrap_or("any");
    let allowed = of.get("enum").and_then(Value::as_array);
    match (of.get("items"), allowed) {
        (Some(items), _) => {
            let mut item = String::new();
            form(items, &mut item);
            text.push_str(&listed(&item));
        }
        (None, Some(allowed)) => {
            let words: Vec<_> = allowed.iter().map(word).collect();
            let strings = allowed.iter().all(Value::is_string);
            let kind = if strings { String::new() } else { format!("{kind} ") };
            let _ = write!(text, "{kind}{}", words.join("|"));
        }
        (None, None) => text.push_str(kind),
    }
    range(of.get("minimum"), of.get("maximum"), "", text);
    range(of.get("minLength"), of.get("maxLength"), " long", text);
    if let Some(format) = of.get("format").map(word) {
        let _ = write!(text, " {format}");
    }
    if let Some(pattern) = of.get("pattern").map(word) {
        let _ = write!(text, " /{pattern}/");
    }
}

fn range(low: Option<&Value>, high: Option<&Value>, unit: &str, text: &mut String) {
    if low.is_some() || high.is_some() {
        let end = |bound: Option<&Value>| bound.map(word).unwrap_or_default();
        let _ = write!(text, " {}..{}{unit}", end(low), end(high));
    }
}

/// Formats a value; text has no quotes.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::FieldShape;
    use serde_json::json;

    #[test]
    fn a_parameter_is_a_line_with_all_of_its_constraints() {
        // REQ-INT-13, REQ-INT-29
        for (members, expected) in [
            (json!({ "name": "a", "type": "string", "required": true }), "a string"),
            (
                json!({
                    "name": "a", "type": "integer", "required": false, "description": "How many.",
                    "default": 50, "minimum": 1, "maximum": 100,
                }),
                "a? integer 1..100 = 50: How many.",
            ),
            (
                json!({ "name": "a", "type": "string", "required": true, "enum": ["x", "y z"] }),
                "a x|y z",
            ),
            (
                json!({ "name": "a", "type": "integer", "required": true, "enum": [1, 2] }),
                "a integer 1|2",
            ),
            (
                json!({
                    "name": "a", "type": "string", "required": true, "minLength": 1,
                    "pattern": "^[a-z]+$", "sensitive": true,
                }),
                "a string 1.. long /^[a-z]+$/ sensitive",
            ),
            (
                json!({
                    "name": "a", "type": "array", "required": false, "default": [],
                    "items": { "type": "string", "format": "date" },
                }),
                "a? (string date)[] = []",
            ),
            (
                json!({
                    "name": "a", "type": "array", "required": true,
                    "items": { "type": "array", "items": { "type": "Place" } },
                }),
                "a Place[][]",
            ),
        ] {
            let mut text = String::new();
            line(&members, None, members["description"].as_str(), &mut text);
            assert_eq!(text, expected);
        }
    }

    fn field(kind: Kind, required: bool) -> FieldShape {
        FieldShape { shape: Shape::of(kind), required }
    }

    fn object(fields: impl IntoIterator<Item = (&'static str, FieldShape)>, rest: Rest) -> Shape {
        let mut object = ObjectShape { rest, ..ObjectShape::default() };
        for (name, field) in fields {
            object.order.push(name.to_owned());
            object.fields.insert(name.to_owned(), field);
        }
        Shape::of(Kind::Object(Box::new(object)))
    }

    #[test]
    fn objects_maps_and_unions_show_their_fields() {
        // REQ-INT-13, REQ-INT-29
        let tag = |value: &str| {
            let mut tag = field(Kind::String, true);
            tag.shape.checks.allowed = vec![value.into()];
            ("kind", tag)
        };
        let door = object([tag("door"), ("floor", field(Kind::Integer, false))], Rest::Closed);
        let pickup = object([tag("pickup")], Rest::Closed);
        let union = Shape::of(Kind::Union(vec![door.clone(), pickup]));
        let numbers = object([], Rest::Each(Box::new(Shape::of(Kind::Integer))));
        let anything = object([], Rest::Each(Box::default()));
        let itself = object(
            [
                ("name", field(Kind::String, true)),
                ("next", field(Kind::Named("Node".into()), false)),
            ],
            Rest::Closed,
        );
        let shapes = Shapes::from([("Node".into(), itself)]);
        let listed = Shape::of(Kind::Array(Box::new(door)));
        for (shape, depth, expected) in [
            (&union, 2, "{ kind door, floor? integer } | { kind pickup }"),
            (&listed, 2, "{ kind door, floor? integer }[]"),
            (&numbers, 2, "{ [name]: integer }"),
            (&anything, 2, "object"),
            (
                &Shape::of(Kind::Named("Node".into())),
                2,
                "{ name string, next? { name string, next? Node } }",
            ),
            (&union, 0, "object"),
        ] {
            assert_eq!(expanded(shape, &shapes, depth), expected);
        }
    }
}
