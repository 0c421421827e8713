//! Checks values against shapes and their constraints.

use std::collections::HashSet;

use mcp_aql_protocol::Format;
use serde_json::{Map, Value};

use super::explain::{is_around_map, key_fault, plain_bound, unknown_field};
use super::faults::{FaultKind, Faults, Path};
use super::sketch::{expected_form, sketch};
use super::type_hint::type_hint;
use super::union::MAX_UNIONS;
use super::{Checks, FieldShape, Kind, ObjectShape, Rest, Shape, Shapes, type_name};
use crate::schema::constraint::{Bound, has_format};
use crate::schema::instant::unsupported_instant;
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

impl Checks {
    /// Describes the constraint that `value` violates. The result completes the sentence "Parameter 'x' …".
    fn broken_by(&self, value: &Value) -> Option<String> {
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            return Some(self.must_be_one(value));
        }
        match value {
            Value::Number(number) => {
                // The number would become infinite, and JSON cannot represent this.
                #[expect(clippy::cast_possible_truncation, reason = "the type has 32 bits")]
                let exceeds = |number: f64| (number as f32).is_infinite();
                match self.single && number.as_f64().is_some_and(exceeds) {
                    true => Some("must be -3.4e38 to 3.4e38".to_owned()),
                    false => self.out_of_range(Bound::of(value)?),
                }
            }
            Value::String(text) => self.bad_text(text).or_else(|| {
                let number = Bound::in_text(text).filter(|_| self.text_too)?;
                self.out_of_range(number)
            }),
            Value::Array(values) => {
                bad_count((self.min_items, self.max_items), "items", values.len()).or_else(|| {
                    let mut seen = HashSet::new();
                    let repeats = self.distinct && !values.iter().all(|value| seen.insert(value));
                    repeats.then(|| "must not have an item twice".to_owned())
                })
            }
            Value::Object(members) => {
                bad_count((self.min_members, self.max_members), "members", members.len())
            }
            _ => None,
        }
    }

    fn out_of_range(&self, number: Bound) -> Option<String> {
        let below = self.minimum.is_some_and(|least| less(number, least))
            || self.above.is_some_and(|least| !less(least, number));
        let above = self.maximum.is_some_and(|most| less(most, number))
            || self.below.is_some_and(|most| !less(number, most));
        if below || above {
            return Some(format!("must be {}", self.numbers(|_| true)));
        }
        let factor = self.multiple_of.filter(|factor| !is_multiple(number, *factor))?;
        Some(format!("must be a multiple of {}", plain_bound(factor)))
    }

    fn bad_text(&self, text: &str) -> Option<String> {
        let least = self.min_length.unwrap_or(0);
        let most = self.max_length.unwrap_or(usize::MAX);
        if least > 0 || most < usize::MAX {
            let length = text.chars().count();
            if length < least || length > most {
                return Some(format!(
                    "must have {} characters, has {length}",
                    Self::range(self.min_length, self.max_length)
                ));
            }
        }
        if let Some(pattern) = self.patterns.iter().find(|pattern| !pattern.is_match(text)) {
            return Some(format!("must match the pattern '{pattern}'"));
        }
        self.format.filter(|format| !has_format(*format, text)).map(|format| {
            if format == Format::DateTime
                && let Ok(instant) = chrono::DateTime::parse_from_rfc3339(text)
                && let Some(reason) = unsupported_instant(&instant.to_utc())
            {
                return reason.to_owned();
            }
            let expected =
                format!("must be in '{}' form, such as '{}'", format.as_str(), format.example());
            // A caller who only sees the example would append its 'Z', even if another time zone is meant.
            let lacks_offset =
                format == Format::DateTime && has_format(format, &format!("{text}Z"));
            match lacks_offset {
                true => format!("{expected}: it lacks the offset from UTC, '+02:00' or 'Z'"),
                false => expected,
            }
        })
    }
}

/// Describes a wrong number of items or members.
fn bad_count(
    (least, most): (Option<usize>, Option<usize>),
    noun: &str,
    count: usize,
) -> Option<String> {
    let fits = least.unwrap_or(0) <= count && count <= most.unwrap_or(usize::MAX);
    (!fits).then(|| format!("must have {} {noun}, has {count}", Checks::range(least, most)))
}

/// Returns `true` if a number is a multiple of another one. Decimal fractions such as 0.1 have no exact binary form, so
/// their quotient may differ from a whole number by rounding.
fn is_multiple(number: Bound, factor: Bound) -> bool {
    match (number, factor) {
        (Bound::Int(number), Bound::Int(factor)) => {
            number.checked_rem(factor).is_none_or(|rest| rest == 0)
        }
        _ => {
            let quotient = number.to_float() / factor.to_float();
            (quotient - quotient.round()).abs() <= quotient.abs() * 4.0 * f64::EPSILON
        }
    }
}

fn less(left: Bound, right: Bound) -> bool {
    left.compare(right).is_some_and(std::cmp::Ordering::is_lt)
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

    #[test]
    fn a_time_without_an_offset_is_not_completed_by_the_example() {
        let checks = Checks { format: Some(Format::DateTime), ..Checks::default() };
        for (text, lacks_offset) in [
            ("2031-05-06T07:08:09", true),
            ("2031-05-06 07:08:09.5", true),
            ("2031-05-06", false),
            ("soon", false),
        ] {
            let broken = checks.broken_by(&json!(text)).unwrap();
            assert_eq!(broken.contains("lacks the offset"), lacks_offset, "{text}: {broken}");
        }
        assert_eq!(checks.broken_by(&json!("2031-05-06T07:08:09+02:00")), None);
        for (text, reason) in [
            ("2016-12-31T23:59:60Z", "must not be in a leap second: seconds go from 00 to 59"),
            (
                "9999-12-31T23:59:59-12:00",
                "must be from 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z",
            ),
        ] {
            assert_eq!(checks.broken_by(&json!(text)).as_deref(), Some(reason));
        }
    }
}
