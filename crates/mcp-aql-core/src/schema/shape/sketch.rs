//! Formats shapes in short for error messages: `{ field, order?: 'asc'|'desc' }`.

use super::describe::is_telling_bound;
use super::{Checks, Kind, ObjectShape, Rest, Shape, Shapes, type_name};

/// Maximum length of a form in bytes. A longer form is shown with fewer levels.
const MAX_BYTES: usize = 400;
/// Maximum number of levels of a form.
const MAX_LEVELS: usize = 4;
/// Maximum length of the values of an enum inside a form, in bytes.
const MAX_ENUM_BYTES: usize = 120;

/// Formats a value: the names of an object's fields with `?` after optional ones, and the types of all fields except
/// plain strings.
///
/// ```text
/// { title, priority?: 1..5, tags?: [string] }
/// ```
pub(crate) fn sketch(shape: &Shape, shapes: &Shapes) -> String {
    let forms = (1..=MAX_LEVELS).rev().map(|levels| form(shape, shapes, levels));
    forms.into_iter().find(|text| text.len() <= MAX_BYTES).unwrap_or_else(|| kind(shape, shapes))
}

/// Returns the type of a parameter, with everything that a caller must know to send a valid value.
pub(crate) fn expected_form(shape: &Shape, shapes: &Shapes) -> String {
    let name = type_name(shape, shapes);
    let rule = rule(shape, shapes).map(|rule| format!(", {rule}")).unwrap_or_default();
    let target = shape.resolve(shapes);
    let form = match &target.kind {
        Kind::Array(items) if matches!(items.resolve(shapes).kind, Kind::Any) => name,
        Kind::Object(object) if is_open(object) && shape.form.is_none() => name,
        Kind::Array(_) | Kind::Tuple(_) | Kind::Object(_) | Kind::Union(_) => sketch(shape, shapes),
        _ => name,
    };
    form + &rule
}

/// Describes a constraint of a value in words, unless it is obvious.
pub(super) fn rule(shape: &Shape, shapes: &Shapes) -> Option<String> {
    shape.checks.rule().or_else(|| shape.resolve(shapes).checks.rule())
}

/// Returns `true` if the form of an object would not show any member.
fn is_open(object: &ObjectShape) -> bool {
    object.fields.is_empty() && !matches!(object.rest, Rest::Each(_))
}

fn kind(shape: &Shape, shapes: &Shapes) -> String {
    type_name(shape.resolve(shapes), shapes)
}

fn form(shape: &Shape, shapes: &Shapes, levels: usize) -> String {
    if let Some(form) = &shape.form {
        return form.clone();
    }
    let target = shape.resolve(shapes);
    let scalar = || {
        let known = [&shape.checks, &target.checks].into_iter().find_map(short_rule);
        known.unwrap_or_else(|| kind(target, shapes))
    };
    match &target.kind {
        Kind::Any | Kind::Never => "any".to_owned(),
        Kind::Array(_) | Kind::Tuple(_) | Kind::Object(_) if levels == 0 => kind(target, shapes),
        Kind::Array(items) => format!("[{}]", part(items, shapes, levels)),
        Kind::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().map(|it| part(it, shapes, levels)).collect();
            format!("[{}]", parts.join(", "))
        }
        Kind::Object(object) => members(object, shapes, levels - 1),
        Kind::Union(variants) if levels > 0 => {
            let mut forms: Vec<_> =
                variants.iter().map(|variant| part(variant, shapes, levels)).collect();
            forms.dedup();
            forms.join(" or ")
        }
        _ => scalar(),
    }
}

/// Returns the form of a part. The fields of an object are one level. The name of another type is a level as well,
/// because a list or a union may contain itself without an object in between.
fn part(shape: &Shape, shapes: &Shapes, levels: usize) -> String {
    let is_object = matches!(shape.resolve(shapes).kind, Kind::Object(_));
    match &shape.kind {
        Kind::Named(_) if !is_object => form(shape, shapes, levels.saturating_sub(1)),
        _ => form(shape, shapes, levels),
    }
}

fn members(object: &ObjectShape, shapes: &Shapes, levels: usize) -> String {
    let member = |name: &String| {
        let field = object.fields.get(name)?;
        let optional = if field.required || object.merge.is_some() { "" } else { "?" };
        let form = part(&field.shape, shapes, levels);
        let form = if form == "string" { String::new() } else { format!(": {form}") };
        Some(format!("{name}{optional}{form}"))
    };
    let mut members: Vec<_> = object.order.iter().filter_map(member).collect();
    if let Rest::Each(each) = &object.rest {
        let key = object.keys.first().map_or_else(|| "name".to_owned(), |key| format!("/{key}/"));
        members.push(format!("[{key}]: {}", part(each, shapes, levels)));
    }
    if members.is_empty() { "object".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
}

/// Formats the constraint of a scalar inside a form.
fn short_rule(checks: &Checks) -> Option<String> {
    if !checks.allowed.is_empty() {
        let values = checks.allowed_values();
        let size: usize = values.iter().map(String::len).sum();
        return (size <= MAX_ENUM_BYTES).then(|| {
            let quoted = |value: &serde_json::Value| match value.as_str() {
                Some(text) => format!("'{text}'"),
                None => value.to_string(),
            };
            checks.allowed.iter().map(quoted).collect::<Vec<_>>().join("|")
        });
    }
    if let Some(format) = checks.format {
        return Some(format!("'{}'", format.example()));
    }
    if let Some(pattern) = checks.patterns.first() {
        return Some(format!("/{pattern}/"));
    }
    if let Some(length) = checks.unusual_length() {
        // In a form, "or" separates variants.
        return Some(length.replace(" or more", "+"));
    }
    let bound = |bound| Some(bound).filter(|bound| is_telling_bound(checks, *bound));
    let (least, most) = (checks.minimum.and_then(bound), checks.maximum.and_then(bound));
    let text =
        |bound: crate::schema::constraint::Bound| super::compile::bound_value(bound).to_string();
    match (least, most) {
        (None, None) => None,
        (least, most) => Some(format!(
            "{}..{}",
            least.map(text).unwrap_or_default(),
            most.map(text).unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Compiler;
    use super::*;
    use serde_json::{Value, json};

    fn sketched(schema: &Value) -> String {
        sketch(&Compiler::default().schema(schema), &Shapes::new())
    }

    #[test]
    fn forms_name_fields_and_what_they_hold() {
        // REQ-ERR-05
        for (schema, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"enum": ["a", "b"]}), "'a'|'b'"),
            (json!({"type": "integer", "minimum": 1, "maximum": 5}), "1..5"),
            (json!({"type": "integer", "format": "uint32", "minimum": 0}), "integer"),
            (json!({"type": "string", "format": "date"}), "'2031-05-06'"),
            (json!({"type": "string", "minLength": 8}), "8+ characters"),
            (json!({"type": "string", "minLength": 1, "maxLength": 200}), "string"),
            (json!({"type": "array", "items": {"type": "integer"}}), "[integer]"),
            (
                json!({
                    "type": "object",
                    "properties": {
                        "field": {"type": "string"},
                        "order": {"enum": ["asc", "desc"]},
                        "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
                    },
                    "required": ["field"],
                }),
                "{ at?: { x: number }, field, order?: 'asc'|'desc' }",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                "{ [name]: integer }",
            ),
            (
                json!({"oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                    {"type": "integer"},
                ]}),
                "{ kind: 'a' } or integer",
            ),
        ] {
            assert_eq!(sketched(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn the_form_of_a_type_that_contains_itself_ends() {
        // REQ-ERR-05
        let named = |name: &str| Shape::of(Kind::Named(name.into()));
        let list = Shape::of(Kind::Array(Box::new(named("Key"))));
        let key = Shape::of(Kind::Union(vec![Shape::of(Kind::Integer), list]));
        let tree = Shape::of(Kind::Array(Box::new(named("Tree"))));
        let shapes = Shapes::from([("Key".into(), key), ("Tree".into(), tree)]);
        assert_eq!(
            sketch(&named("Key"), &shapes),
            "integer or [integer or [integer or [integer or [integer or array]]]]"
        );
        assert_eq!(sketch(&named("Tree"), &shapes), "[[[[array]]]]");
    }

    #[test]
    fn long_forms_show_fewer_levels() {
        let fields: serde_json::Map<String, Value> = (0..12)
            .map(|number| (format!("field_number_{number:03}"), json!({"type": "string"})))
            .collect();
        let inner = json!({"type": "object", "properties": fields});
        let outer = json!({"type": "object", "properties": {"a": inner, "b": inner}});
        assert_eq!(sketched(&outer), "{ a?: object, b?: object }");
    }
}
