//! Checks values against shapes.

use mcp_aql_protocol::{nearest_name, path_parts, probable_parameter, snake_case};
use serde_json::{Map, Value};

use super::faults::{FaultKind, Faults, Hint, Path};
use super::misplaced_field::only_object_with_field;
use super::sketch::{expected_form, sketch};
use super::type_hint::type_hint;
use super::union::MAX_UNIONS;
use super::{FieldShape, Kind, ObjectShape, Rest, Shape, Shapes, type_name};
use crate::text::clean;
use crate::vocab::json_type;

impl Shape {
    /// Checks `value` and collects all violations in `faults`.
    pub fn check(&self, value: &Value, path: Path<'_>, shapes: &Shapes, faults: &mut Faults) {
        if faults.is_full() || !faults.step(path) {
            return;
        }
        if value.is_null() {
            if !self.nullable && !self.resolve(shapes).accepts_null(shapes) {
                self.push_type(value, path, shapes, faults);
            }
            return;
        }
        let before = faults.count();
        match (&self.kind, value) {
            (Kind::Any, _)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::String, Value::String(_)) => {}
            (Kind::Integer, Value::Number(number)) if !number.is_f64() => {}
            (Kind::Array(items), Value::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    items.check(value, Path::Item(&path, index), shapes, faults);
                }
            }
            (Kind::Tuple(parts), Value::Array(values)) => {
                self.check_tuple(parts, values, path, shapes, faults);
            }
            (Kind::Object(object), Value::Object(fields)) => {
                check_object(object, fields, path, shapes, faults);
            }
            (Kind::Union(variants), _) => {
                self.check_union(variants, value, path, shapes, faults);
            }
            (Kind::Named(_), _) => {
                let target = self.resolve(shapes);
                if !matches!(target.kind, Kind::Named(_)) {
                    target.check(value, path, shapes, faults);
                }
            }
            _ => self.push_type(value, path, shapes, faults),
        }
        if faults.count() == before
            && let Some(mut expectation) = self.checks.broken_by(value)
        {
            if value.as_array().is_some_and(Vec::is_empty) {
                expectation.push_str(&format!(". Send {}", sketch(self, shapes)));
            }
            faults.push(path, FaultKind::Value { expectation });
        }
    }

    fn check_tuple(
        &self,
        parts: &[Self],
        values: &[Value],
        path: Path<'_>,
        shapes: &Shapes,
        faults: &mut Faults,
    ) {
        match values {
            // A list around the items.
            [Value::Array(inner)] if parts.len() > 1 && inner.len() == parts.len() => {
                faults.push_with(Path::Item(&path, 0), || FaultKind::Type {
                    expected: parts.first().map(|part| type_name(part, shapes)).unwrap_or_default(),
                    actual: "array",
                    hint: Some("Send its items directly in the outer list".to_owned()),
                });
            }
            _ if parts.len() == values.len() => {
                for (index, (part, value)) in parts.iter().zip(values).enumerate() {
                    part.check(value, Path::Item(&path, index), shapes, faults);
                }
            }
            _ => faults.push_with(path, || FaultKind::Value {
                expectation: format!(
                    "must have {} items. Send {}",
                    parts.len(),
                    sketch(self, shapes)
                ),
            }),
        }
    }

    fn accepts_null(&self, shapes: &Shapes) -> bool {
        self.accepts_null_within(shapes, MAX_UNIONS)
    }

    /// Returns `true` if the shape accepts `null`. Unions inside it are searched down to this depth.
    fn accepts_null_within(&self, shapes: &Shapes, depth: usize) -> bool {
        self.nullable
            || match &self.kind {
                Kind::Any | Kind::Null => true,
                Kind::Union(variants) if depth > 0 => variants.iter().any(|variant| {
                    variant.nullable
                        || variant.resolve(shapes).accepts_null_within(shapes, depth - 1)
                }),
                _ => false,
            }
    }

    pub(super) fn push_type(
        &self,
        value: &Value,
        path: Path<'_>,
        shapes: &Shapes,
        faults: &mut Faults,
    ) {
        faults.push_with(path, || FaultKind::Type {
            expected: type_name(self, shapes),
            actual: json_type(value),
            hint: type_hint(self, value, path, shapes),
        });
    }

    /// Returns `true` if the value has a JSON type of this shape, regardless of its content.
    pub(super) fn has_type_of(&self, value: &Value, shapes: &Shapes) -> bool {
        let shape = self.resolve(shapes);
        match (&shape.kind, value) {
            (_, Value::Null) => self.nullable || shape.accepts_null(shapes),
            (Kind::Any, _)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::String, Value::String(_))
            | (Kind::Array(_) | Kind::Tuple(_), Value::Array(_))
            | (Kind::Object(_), Value::Object(_)) => true,
            (Kind::Integer, Value::Number(number)) => !number.is_f64(),
            (Kind::Union(variants), _) => {
                variants.iter().any(|variant| variant.has_type_of(value, shapes))
            }
            _ => false,
        }
    }
}

fn check_object(
    object: &ObjectShape,
    fields: &Map<String, Value>,
    path: Path<'_>,
    shapes: &Shapes,
    faults: &mut Faults,
) {
    for (name, value) in fields {
        if faults.is_full() {
            return;
        }
        let at = Path::Field(&path, name);
        match (object.fields.get(name), &object.rest) {
            (Some(field), _) => {
                check_field(field, object.merge.is_some(), (value, at), shapes, faults);
            }
            (None, _) if is_around_map(object, fields, value, shapes) => {
                faults.push_with(at, || FaultKind::Value {
                    expectation: format!(
                        "is one level too deep. Replace '{}' with its members",
                        clean(&at.to_string())
                    ),
                });
            }
            (None, _) if object.refuses_key(name) => {
                faults.push_with(path, || key_fault(object, name));
            }
            (None, Rest::Open) => {
                let matching = object.keys.iter().zip(&object.others);
                for (_, each) in matching.filter(|(key, _)| key.is_match(name)) {
                    each.check(value, at, shapes, faults);
                }
            }
            (None, Rest::Each(each)) => {
                each.check(value, at, shapes, faults);
            }
            (None, Rest::Closed) => {
                faults.push_with(at, || unknown_field(object, (name, value), path, fields, shapes));
            }
        }
    }
    if object.merge.is_none() {
        for name in &object.order {
            let Some(field) = object.fields.get(name) else { continue };
            if field.required && !fields.contains_key(name) {
                faults.push_with(Path::Field(&path, name), || {
                    let expected = expected_form(&field.shape, shapes);
                    FaultKind::Missing { expected }
                });
            }
        }
    }
}

fn check_field(
    field: &FieldShape,
    merges: bool,
    (value, at): (&Value, Path<'_>),
    shapes: &Shapes,
    faults: &mut Faults,
) {
    if value.is_null() && merges && !field.shape.nullable {
        let expectation = "cannot be removed with null: give it a value or leave it out";
        return faults.push(at, FaultKind::Value { expectation: expectation.to_owned() });
    }
    let before = faults.count();
    field.shape.check(value, at, shapes, faults);
    if value.is_null() && !field.required && faults.count() > before {
        faults.hint_last("Leave it out, or give it a value");
    }
}

/// Returns `true` if a map has been wrapped in another object: its only value is an object with the map's values.
fn is_around_map(
    object: &ObjectShape,
    fields: &Map<String, Value>,
    value: &Value,
    shapes: &Shapes,
) -> bool {
    let each = match &object.rest {
        Rest::Each(each) => Some(&**each),
        _ if object.keys.is_empty() => None,
        _ => object.others.first(),
    };
    let (Some(each), Value::Object(members), 1) = (each, value, fields.len()) else { return false };
    object.fields.is_empty()
        && !members.is_empty()
        && !each.has_type_of(value, shapes)
        && members
            .iter()
            .all(|(name, value)| each.has_type_of(value, shapes) && !object.refuses_key(name))
}

/// Describes the violation of a map's key.
fn key_fault(object: &ObjectShape, name: &str) -> FaultKind {
    let patterns: Vec<_> = object.keys.iter().map(|key| format!("'{key}'")).collect();
    let key = clean(name);
    let rule = patterns.join(" or ");
    FaultKind::Value { expectation: format!("has the key '{key}', but keys must match {rule}") }
}

fn unknown_field(
    object: &ObjectShape,
    (name, value): (&str, &Value),
    path: Path<'_>,
    sent: &Map<String, Value>,
    shapes: &Shapes,
) -> FaultKind {
    let rules = object.merge.as_ref();
    if rules.is_some_and(|rules| rules.read_only.contains(&name)) {
        return FaultKind::ReadOnly;
    }
    let names = || object.order.iter().map(String::as_str);
    let hint = if rules.is_some_and(|rules| rules.identifiers.contains(&name)) {
        Hint::Identifier
    } else if is_around(object, value) {
        Hint::Around
    } else if let Some(parts) = path_of_field(object, name, shapes) {
        Hint::Path(parts)
    } else if let Some(path) = only_object_with_field(object, name, shapes) {
        Hint::Inside(path)
    } else {
        // A field that the caller did not send is more probable.
        let absent = names().filter(|name| !sent.contains_key(*name));
        probable_field(name, absent)
            .or_else(|| nearest_name(name, names()))
            .map_or(Hint::None, |near| Hint::Name(near.to_owned()))
    };
    let valid = names().map(|name| Path::Field(&path, name).to_string()).collect();
    FaultKind::Unknown { name: name.to_owned(), valid, hint }
}

/// Splits a name into its parts if it is the path of a field inside an object, for example `place.floor`.
fn path_of_field(object: &ObjectShape, name: &str, shapes: &Shapes) -> Option<Vec<String>> {
    let parts: Vec<_> = path_parts(name)?.into_iter().map(str::to_owned).collect();
    let (last, around) = parts.split_last()?;
    let inner = around.iter().try_fold(object, |object, part| {
        match &object.fields.get(part)?.shape.resolve(shapes).kind {
            Kind::Object(inner) => Some(&**inner),
            _ => None,
        }
    })?;
    inner.fields.contains_key(last).then_some(parts)
}

/// Returns the probably intended field. It has the same name in another case, or a similar name.
fn probable_field<'a>(
    name: &str,
    names: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let snake = snake_case(name);
    let same = names.clone().into_iter().find(|known| snake_case(known) == snake);
    same.or_else(|| probable_parameter(name, names))
}

/// Returns `true` if a value is an object with the fields of the surrounding object, and therefore one level too
/// deep.
fn is_around(object: &ObjectShape, value: &Value) -> bool {
    value.as_object().is_some_and(|members| {
        !members.is_empty() && members.keys().all(|name| object.fields.contains_key(name))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Compiler;
    use super::super::faults::Fault;
    use super::*;
    use crate::schema::constraint::{Bound, Constraint};
    use crate::text::shorten;
    use serde_json::json;

    fn faults(schema: Value, constraints: &[Constraint], value: Value) -> Vec<String> {
        let mut compiler = Compiler::default();
        let mut shape = compiler.schema(&schema);
        compiler.constrain(&mut shape, constraints);
        assert_eq!(compiler.problems, Vec::<String>::new());
        let mut faults = Faults::default();
        shape.check(&value, Path::Root("x"), &Shapes::new(), &mut faults);
        faults
            .into_vec()
            .into_iter()
            .map(|Fault { path, kind }| match kind {
                FaultKind::Type { expected, actual, .. } => {
                    format!("{path}: {expected}, not {actual}")
                }
                FaultKind::Missing { .. } => format!("{path}: missing"),
                FaultKind::Unknown { hint, .. } => format!("{path}: unknown {hint:?}"),
                FaultKind::ReadOnly => format!("{path}: read-only"),
                FaultKind::Value { expectation } => format!("{path} {expectation}"),
            })
            .collect()
    }

    #[test]
    fn types_are_checked_by_the_schema() {
        // REQ-RQ-07
        for (schema, value, expected) in [
            (json!({"type": "string"}), json!("a"), None),
            (json!({"type": "string"}), json!(1), Some("x: string, not number")),
            (json!({"type": "integer"}), json!(1), None),
            (json!({"type": "integer"}), json!(1.5), Some("x: integer, not number")),
            (json!({"type": "integer", "format": "uint8"}), json!(256), Some("x must be 0 to 255")),
            (json!({"type": "number"}), json!(1), None),
            (json!({"type": "number", "format": "double"}), json!(1e39), None),
            (json!({"type": "number", "format": "float"}), json!(3.4028235e38), None),
            (
                json!({"type": "array", "items": {"type": ["number", "null"], "format": "float"}}),
                json!([null, -1e39]),
                Some("x[1] must be -3.4e38 to 3.4e38"),
            ),
            (json!({"type": ["string", "null"]}), json!(null), None),
            (json!({"type": "string"}), json!(null), Some("x: string, not null")),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                json!(["a", 2]),
                Some("x[1]: string, not number"),
            ),
            (json!({"enum": ["a", "b"]}), json!("c"), Some("x must be one of: a, b")),
            (json!(true), json!({"any": "thing"}), None),
        ] {
            let found = faults(schema.clone(), &[], value.clone());
            assert_eq!(found.first().map(String::as_str), expected, "{schema} {value}");
        }
    }

    #[test]
    fn nested_faults_are_named_by_path() {
        let schema = json!({
            "type": "object",
            "properties": {"owner": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
        });
        assert_eq!(
            faults(schema.clone(), &[], json!({"owner": {"nmae": "Ada"}})),
            ["x.owner.nmae: unknown Name(\"name\")", "x.owner.name: missing"]
        );
        assert_eq!(faults(schema, &[], json!({"owner": {"name": "Ada"}})), Vec::<String>::new());
    }

    #[test]
    fn constraints_say_what_they_want() {
        let text = json!({"type": "string"});
        let number = json!({"type": "integer"});
        for (schema, constraint, value, expected) in [
            (
                &text,
                Constraint::MinLength(2),
                json!("é"),
                "x must have 2 or more characters, has 1",
            ),
            (&text, Constraint::MaxLength(1), json!("ab"), "x must have up to 1 characters, has 2"),
            (&text, Constraint::Pattern("^a$"), json!("b"), "x must match the pattern '^a$'"),
            (&number, Constraint::Minimum(Bound::Int(3)), json!(2), "x must be 3 or more"),
            (&number, Constraint::Maximum(Bound::Int(3)), json!(4), "x must be up to 3"),
        ] {
            assert_eq!(faults(schema.clone(), &[constraint], value), [expected]);
        }
    }

    #[test]
    fn the_tagged_variant_tells_what_is_wrong() {
        let schema = json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
            {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
        ]});
        assert_eq!(
            faults(schema.clone(), &[], json!({"kind": "square", "side": "1"})),
            ["x.side: number, not string"]
        );
        assert_eq!(
            faults(schema, &[], json!({"kind": "circle", "radius": 1})),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_recursive_union_does_not_hold_the_adapter() {
        let mut compiler = Compiler::default();
        let key = compiler.schema(&json!({"anyOf": [
            {"type": "integer"},
            {"type": "array", "items": {"$ref": "#/$defs/Key"}},
            {"type": "array", "items": {"$ref": "#/$defs/Key"}, "minItems": 1},
        ]}));
        let shapes = Shapes::from([("Key".into(), key.clone())]);
        let mut value = json!(true);
        for _ in 0..31 {
            value = json!([value]);
        }
        let mut faults = Faults::default();
        key.check(&value, Path::Root("x"), &shapes, &mut faults);
        assert!(!faults.is_empty());
    }

    #[test]
    fn long_and_odd_names_are_shortened() {
        assert_eq!(shorten("a\nb"), "a?b");
        assert_eq!(shorten(&"x".repeat(70)).chars().count(), 65);
    }
}
