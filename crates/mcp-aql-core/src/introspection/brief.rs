//! Renders the brief form of a list entry: the description of an operation, followed by its parameters.

use std::fmt::Write as _;

use serde_json::Value;

use super::parameter_info::parameter_info;
use crate::observe::redact::without_secrets;
use crate::operation::{Parameter, RegisteredOperation};
use crate::schema::shape::{
    Checks, FieldShape, Kind, Members, ObjectShape, Rest, Shape, Shapes, bound_value, describe,
    type_name,
};
use crate::vocab::plain_value;

/// Maximum depth to which objects are expanded.
const MAX_DEPTH: usize = 3;
/// Maximum length of an expanded object in bytes. A longer object is expanded to a smaller depth.
const MAX_FORM_BYTES: usize = 600;
/// Maximum length of a field's default in bytes. Longer defaults are left out.
const MAX_DEFAULT_BYTES: usize = 40;

/// Selects between the two layouts of parameters. They differ in how they show strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// One parameter in each line. The type `string` is written: `title string 1..200 long`.
    Lines,
    /// All parameters in one line. A parameter without a type is a string: `title 1..200 long`.
    OneLine,
}

/// Returns the description of an operation, followed by one line for each parameter. A `?` marks optional parameters.
///
/// The result is shorter than the full details, and it also shows the fields of objects:
///
/// ```text
/// Create a task.
/// title string 1..200 long: The title.
/// priority? integer 1..5 = 3
/// address? { city string, zip? string 5..5 long }
/// ```
pub(super) fn brief(
    description: String,
    operation: &RegisteredOperation,
    shapes: &Shapes,
) -> String {
    let mut text = description;
    let common = &operation.composites.description.brief;
    for parameter in own_parameters(operation) {
        let info = value_of(&parameter_info(parameter, shapes));
        let fields = fields_of(parameter, shapes, Style::Lines);
        let description = match &parameter.shape.kind {
            // The description of an `input` lists its fields and how to remove them. The form already shows both.
            Kind::Object(object) if object.merge.is_some() && fields.is_some() => None,
            _ => info.get("description").and_then(Value::as_str),
        };
        text.push('\n');
        line(&info, &type_of(&info, fields, Style::Lines), description, &mut text);
    }
    if !common.text.is_empty() {
        text.push('\n');
        text.push_str(&common.text);
    }
    text
}

/// Returns the parameters not covered by a common short form, such as the one for all page parameters.
fn own_parameters(operation: &RegisteredOperation) -> impl Iterator<Item = &Parameter> {
    let common = &operation.composites.description.brief;
    operation.parameters.iter().filter(|parameter| !common.contains(&parameter.name))
}

/// Lists the parameters in one line, without their descriptions: `title, priority? integer 1..5`.
///
/// Returns `None` if this line would hide the form of a required parameter.
pub(crate) fn signature(operation: &RegisteredOperation, shapes: &Shapes) -> Option<String> {
    let mut text = String::new();
    for parameter in own_parameters(operation) {
        let fields = fields_of(parameter, shapes, Style::OneLine);
        let hides_form = fields.is_none() && has_fields(&parameter.shape, shapes, MAX_DEPTH);
        let is_named = fields.is_none() && parameter.type_name.is_some();
        if parameter.spec.required && (hides_form || is_named) {
            return None;
        }
        text.push_str(if text.is_empty() { "" } else { ", " });
        let info = value_of(&parameter_info(parameter, shapes));
        let mut kind = type_of(&info, fields, Style::OneLine);
        limits(&parameter.shape, shapes, &mut kind);
        line(&info, &kind, None, &mut text);
        if parameter.spec.deprecated.is_some() {
            text.push_str(" deprecated");
        }
    }
    let common = &operation.composites.description.brief.text;
    if !common.is_empty() {
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(common);
    }
    Some(text)
}

fn value_of(members: &Members) -> Value {
    serde_json::to_value(members).unwrap_or_default()
}

/// Describes a parameter by its fields, if it is an object or contains objects. They are expanded as deeply as the
/// maximum length permits. Returns `None` for other parameters.
fn fields_of(parameter: &Parameter, shapes: &Shapes, style: Style) -> Option<String> {
    if !has_fields(&parameter.shape, shapes, MAX_DEPTH) {
        return None;
    }
    // A greater depth is only tried if the smaller one fits. This bounds the work.
    (1..=MAX_DEPTH)
        .map(|depth| expanded(&parameter.shape, shapes, depth, style))
        .take_while(|form| form.len() <= MAX_FORM_BYTES)
        .last()
}

/// Returns `true` if a shape has fields or values that the name of its type does not show.
fn has_fields(shape: &Shape, shapes: &Shapes, depth: usize) -> bool {
    let Some(inner) = depth.checked_sub(1) else { return false };
    match &shape.resolve(shapes).kind {
        Kind::Object(object) => is_shown(object, shapes),
        Kind::Array(items) => has_fields(items, shapes, inner),
        Kind::Tuple(_) => true,
        Kind::Union(parts) => parts.iter().any(|part| has_fields(part, shapes, inner)),
        _ => false,
    }
}

/// Returns `true` if the form of an object can be shown. The fields of flattened types are not known here.
fn is_shown(object: &ObjectShape, shapes: &Shapes) -> bool {
    object.flattened.is_empty() && (!object.order.is_empty() || values_of(object, shapes).is_some())
}

/// Formats a shape with the fields of its objects.
///
/// ```text
/// object   { city string, zip? string 5..5 long }
/// map      { [name]: integer }
/// union    integer | { city string }
/// ```
fn expanded(shape: &Shape, shapes: &Shapes, depth: usize, style: Style) -> String {
    let target = shape.resolve(shapes);
    // The fields of an object are one level. The name of another type is a level as well, because a list or a union
    // may contain itself without an object in between; the recursion would not end.
    let depth = match (&shape.kind, &target.kind) {
        (Kind::Named(_), Kind::Object(_)) => depth,
        (Kind::Named(_), _) => depth.saturating_sub(1),
        _ => depth,
    };
    if depth == 0 || !has_fields(shape, shapes, MAX_DEPTH) {
        let mut described = Members::new();
        describe(shape, shapes, &mut described);
        let mut text = String::new();
        form(&value_of(&described), style, &mut text);
        return text;
    }
    let each = |parts: &[Shape]| -> Vec<_> {
        parts.iter().map(|part| expanded(part, shapes, depth, Style::Lines)).collect()
    };
    match &target.kind {
        Kind::Object(object) => object_form(object, shapes, depth, style),
        Kind::Array(items) => {
            let is_object = matches!(items.resolve(shapes).kind, Kind::Object(_));
            listed(&expanded(items, shapes, depth, style), is_object)
        }
        Kind::Tuple(parts) => format!("[{}]", each(parts).join(", ")),
        Kind::Union(parts) => each(parts).join(" | "),
        _ => type_name(shape, shapes),
    }
}

fn object_form(object: &ObjectShape, shapes: &Shapes, depth: usize, style: Style) -> String {
    let depth = depth.saturating_sub(1);
    let typed = |name: &str, shape: &Shape, style: Style| {
        let mut text = name.to_owned();
        push_word(&expanded(shape, shapes, depth, style), &mut text);
        limits(shape, shapes, &mut text);
        text
    };
    let member = |name: &String| {
        let field = object.fields.get(name)?;
        let shape = &field.shape;
        let optional = if field.required { "" } else { "?" };
        let mut text = typed(&format!("{name}{optional}"), shape, style);
        if shape.sensitive || shape.resolve(shapes).sensitive {
            text.push_str(" sensitive");
        }
        if let Some(default) = short_default(field, shapes) {
            let _ = write!(text, " = {default}");
        }
        // In an update, `null` removes a value.
        if object.merge.is_some() && shape.nullable {
            text.push_str(" or null");
        }
        Some(text)
    };
    let mut parts: Vec<_> = object.order.iter().filter_map(member).collect();
    if let Some(values) = values_of(object, shapes) {
        parts.push(typed("[name]:", values, Style::Lines));
    } else if matches!(object.rest, Rest::Open) {
        parts.push("…".to_owned());
    }
    format!("{{ {} }}", parts.join(", "))
}

/// Returns the default of a field as JSON, or `None` if it is long or contains a secret.
fn short_default(field: &FieldShape, shapes: &Shapes) -> Option<String> {
    let default = without_secrets(field.default.as_ref()?, &field.shape, shapes)?;
    Some(default.to_string()).filter(|text| text.len() <= MAX_DEFAULT_BYTES)
}

/// Returns the shape of a map's values. Returns `None` if any value is accepted, because the shape then adds nothing.
fn values_of<'a>(object: &'a ObjectShape, shapes: &Shapes) -> Option<&'a Shape> {
    let values = match (&object.rest, object.others.as_slice()) {
        (Rest::Each(each), _) => each,
        (_, [only]) => only,
        _ => return None,
    };
    Some(values).filter(|values| !matches!(values.resolve(shapes).kind, Kind::Any))
}

/// Formats a list of items: `integer[]`, or `(integer | string)[]` if the form of an item consists of several words.
fn listed(item: &str, is_object: bool) -> String {
    match item.contains([' ', '|']) && !is_object {
        true => format!("({item})[]"),
        false => format!("{item}[]"),
    }
}

/// Appends the constraints without a member in a parameter's description: `1..3 items`, `above 0`.
fn limits(shape: &Shape, shapes: &Shapes, text: &mut String) {
    let target = shape.resolve(shapes);
    let pick = |of: fn(&Checks) -> Option<Value>| of(&shape.checks).or_else(|| of(&target.checks));
    let least = pick(|checks| checks.min_items.map(Value::from));
    let most = pick(|checks| checks.max_items.map(Value::from));
    range(least.as_ref(), most.as_ref(), " items", text);
    for (word, bound) in [
        ("above", pick(|checks| checks.above.map(bound_value))),
        ("below", pick(|checks| checks.below.map(bound_value))),
    ] {
        if let Some(bound) = bound {
            let _ = write!(text, " {word} {bound}");
        }
    }
}

/// Returns the form of the parameter's fields if they are shown, otherwise its type with constraints.
fn type_of(parameter: &Value, fields: Option<String>, style: Style) -> String {
    fields.unwrap_or_else(|| {
        let mut text = String::new();
        form(parameter, style, &mut text);
        text
    })
}

/// Appends a parameter: `limit? integer 1..100 = 50: Maximum number of results.`
fn line(parameter: &Value, kind: &str, description: Option<&str>, text: &mut String) {
    text.push_str(parameter.get("name").and_then(Value::as_str).unwrap_or_default());
    if parameter.get("required") != Some(&Value::Bool(true)) {
        text.push('?');
    }
    push_word(kind, text);
    if parameter.get("sensitive").is_some() {
        text.push_str(" sensitive");
    }
    if let Some(default) = parameter.get("default") {
        let _ = write!(text, " = {default}");
    }
    if let Some(description) = description {
        let lines: Vec<_> = description.lines().map(str::trim).collect();
        let _ = write!(text, ": {}", lines.join(" "));
    }
}

/// Appends a type with its constraints: `string 1..200 long`, `todo|doing|done`, `integer[]`.
fn form(of: &Value, style: Style, text: &mut String) {
    let kind = of.get("type").and_then(Value::as_str).unwrap_or("any");
    let allowed = of.get("enum").and_then(Value::as_array);
    match (of.get("items"), allowed) {
        (Some(items), _) => {
            let mut item = String::new();
            form(items, Style::Lines, &mut item);
            text.push_str(&listed(&item, false));
        }
        (None, Some(allowed)) => {
            let words: Vec<_> = allowed.iter().map(plain_value).collect();
            let strings = allowed.iter().all(Value::is_string);
            let kind = if strings { String::new() } else { format!("{kind} ") };
            let _ = write!(text, "{kind}{}", words.join("|"));
        }
        (None, None) if kind == "string" && style == Style::OneLine => {}
        (None, None) => text.push_str(kind),
    }
    range(of.get("minimum"), of.get("maximum"), "", text);
    range(of.get("minLength"), of.get("maxLength"), " long", text);
    if let Some(format) = of.get("format").map(plain_value) {
        let _ = write!(text, " {format}");
    }
    if let Some(pattern) = of.get("pattern").map(plain_value) {
        let _ = write!(text, " /{pattern}/");
    }
}

fn range(low: Option<&Value>, high: Option<&Value>, unit: &str, text: &mut String) {
    if low.is_some() || high.is_some() {
        let end = |bound: Option<&Value>| bound.map(plain_value).unwrap_or_default();
        let _ = write!(text, " {}..{}{unit}", end(low), end(high));
    }
}

/// Appends a word after a space. A word that starts with a space is appended as it is, and an empty one is skipped.
fn push_word(word: &str, text: &mut String) {
    if !word.is_empty() && !word.starts_with(' ') {
        text.push(' ');
    }
    text.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let kind = type_of(&members, None, Style::Lines);
            line(&members, &kind, members["description"].as_str(), &mut text);
            assert_eq!(text, expected);
        }
    }

    fn field(kind: Kind, required: bool) -> FieldShape {
        FieldShape { shape: Shape::of(kind), required, default: None }
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
        let named = |name: &str| Shape::of(Kind::Named(name.into()));
        let tree = Shape::of(Kind::Array(Box::new(named("Tree"))));
        let condition = Shape::of(Kind::Union(vec![
            Shape::of(Kind::String),
            Shape::of(Kind::Array(Box::new(named("Condition")))),
            object([("field", field(Kind::String, true))], Rest::Closed),
        ]));
        let shapes = Shapes::from([
            ("Node".into(), itself),
            ("Tree".into(), tree),
            ("Condition".into(), condition),
        ]);
        let mut tags = Shape::of(Kind::Array(Box::new(Shape::of(Kind::String))));
        tags.checks.max_items = Some(3);
        tags.sensitive = true;
        let mut count = field(Kind::Integer, false);
        count.default = Some(json!(3));
        let mut secret = field(Kind::String, false);
        secret.default = Some(json!("x"));
        secret.shape.sensitive = true;
        let with_defaults = object([("count", count), ("secret", secret)], Rest::Closed);
        let limited = object(
            [("tags", FieldShape { shape: tags, required: true, default: None })],
            Rest::Open,
        );
        let account = object([("id", field(Kind::String, true))], Rest::Closed);
        let mixed = Shape::of(Kind::Union(vec![account, Shape::of(Kind::String)]));
        let mixed = Shape::of(Kind::Array(Box::new(mixed)));
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
            (&limited, 2, "{ tags string[] ..3 items sensitive, … }"),
            (&mixed, 2, "({ id string } | string)[]"),
            (&with_defaults, 2, "{ count? integer = 3, secret? string sensitive }"),
            (&named("Tree"), 3, "array[][][][][][]"),
            (&named("Condition"), 2, "string | Condition[] | { field string }"),
        ] {
            assert_eq!(expanded(shape, &shapes, depth, Style::Lines), expected);
        }
    }
}
