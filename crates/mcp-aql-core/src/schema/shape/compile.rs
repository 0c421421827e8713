//! Compiles JSON schemas and constraints into shapes.

use std::sync::Arc;

use mcp_aql_protocol::Format;
use serde_json::{Map, Value};

use super::{Checks, FieldShape, Kind, ObjectShape, Rest, Shape, Shapes};
use crate::schema::constraint::{Bound, Constraint, EnumValue};
use crate::schema::spec::InputSpec;

/// Compiles JSON schemas and constraint tables into shapes, and collects problems.
#[derive(Debug, Default)]
pub struct Compiler {
    /// Problems reported by `build()`.
    pub(crate) problems: Vec<String>,
    /// Shapes of UPDATE inputs, by their names in introspection.
    pub(crate) inputs: Shapes,
    /// Tables of the inputs, by the resource's name.
    pub(super) resources: Vec<(Arc<str>, InputSpec)>,
}

/// Maximum nesting depth of schemas. A deeper part accepts any value. The Rust type still checks the value when it is
/// decoded.
pub(crate) const MAX_DEPTH: usize = 64;

impl Compiler {
    /// Compiles a JSON schema.
    pub fn schema(&mut self, schema: &Value) -> Shape {
        self.at_depth(schema, 0)
    }

    fn at_depth(&mut self, schema: &Value, depth: usize) -> Shape {
        let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return Shape::of(match schema {
                Value::Bool(false) => Kind::Never,
                _ => Kind::Any,
            });
        };
        let mut shape = self.kind_of(schema, depth);
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            shape.description = Some(description.to_owned());
        }
        // Authors set this with `#[schemars(extend("sensitive" = true))]`.
        shape.sensitive |= schema.get("sensitive") == Some(&Value::Bool(true));
        self.checks_of(schema, &mut shape.checks);
        shape
    }

    fn kind_of(&mut self, schema: &Map<String, Value>, depth: usize) -> Shape {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let name = name.rsplit('/').next().unwrap_or(name);
            return Shape::of(Kind::Named(Arc::from(name)));
        }
        if let Some(value) = schema.get("const") {
            return constant(value);
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let mut shapes: Vec<_> = values.iter().map(constant).collect();
            return unite(&mut shapes);
        }
        let parts = |key: &str| schema.get(key).and_then(Value::as_array);
        let has_fields = schema.contains_key("properties");
        if let Some(alternatives) = parts("oneOf").or_else(|| parts("anyOf")) {
            if has_fields {
                // A flattened enum. The fields depend on the variant, so only decoding into the Rust type can check
                // the names.
                let mut object = self.object(schema, depth);
                object.rest = Rest::Open;
                object.flattened.extend(self.each_of(alternatives, depth));
                return Shape::of(Kind::Object(Box::new(object)));
            }
            let mut shapes = self.each_of(alternatives, depth);
            return unite(&mut shapes);
        }
        if let Some([only]) = parts("allOf").map(Vec::as_slice)
            && !has_fields
        {
            return self.at_depth(only, depth + 1);
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.typed(name, schema, depth),
            Some(Value::Array(names)) => {
                let mut shapes: Vec<_> = names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| self.typed(name, schema, depth))
                    .collect();
                unite(&mut shapes)
            }
            _ if ["properties", "required", "additionalProperties", "patternProperties"]
                .iter()
                .any(|key| schema.contains_key(*key)) =>
            {
                self.typed("object", schema, depth)
            }
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                self.typed("array", schema, depth)
            }
            _ => Shape::default(),
        }
    }

    fn each_of(&mut self, parts: &[Value], depth: usize) -> Vec<Shape> {
        parts.iter().map(|part| self.at_depth(part, depth + 1)).collect()
    }

    fn typed(&mut self, name: &str, schema: &Map<String, Value>, depth: usize) -> Shape {
        Shape::of(match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "string" => Kind::String,
            "array" => match (schema.get("prefixItems"), schema.get("items")) {
                (Some(Value::Array(parts)), _) => {
                    Kind::Tuple(parts.iter().map(|part| self.at_depth(part, depth + 1)).collect())
                }
                (_, Some(items)) => Kind::Array(Box::new(self.at_depth(items, depth + 1))),
                _ => Kind::Array(Box::default()),
            },
            "object" => Kind::Object(Box::new(self.object(schema, depth))),
            _ => Kind::Any,
        })
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> ObjectShape {
        let mut object = ObjectShape::default();
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let shape = self.at_depth(property, depth + 1);
            let default = property.get("default").filter(|value| !value.is_null()).cloned();
            let field = FieldShape { required: required.contains(&name.as_str()), shape, default };
            object.order.push(name.clone());
            object.fields.insert(name.clone(), field);
        }
        for name in required {
            if object.fields.contains_key(name) {
                continue;
            }
            let shape = match schema.get("additionalProperties") {
                Some(each) => self.at_depth(each, depth + 1),
                None => Shape::default(),
            };
            let field = FieldShape { required: true, shape, default: None };
            object.order.push(name.to_owned());
            object.fields.insert(name.to_owned(), field);
        }
        object.rest = match schema.get("additionalProperties") {
            None if properties.is_some() => Rest::Closed,
            Some(Value::Bool(false)) => Rest::Closed,
            None | Some(Value::Bool(true)) => Rest::Open,
            Some(each) => Rest::Each(Box::new(self.at_depth(each, depth + 1))),
        };
        // With several flattened parts, only decoding into the Rust type can check the names.
        if let Some(parts) = schema.get("allOf") {
            object.rest = Rest::Open;
            object.flattened = self.each_of(parts.as_array().map_or(&[], Vec::as_slice), depth);
        }
        if let Some(patterns) = schema.get("patternProperties") {
            let is_map = object.fields.is_empty() && matches!(object.rest, Rest::Closed);
            object.rest = Rest::Open;
            let patterns = patterns.as_object().into_iter().flatten();
            for (pattern, each) in patterns {
                object.others.push(self.at_depth(each, depth + 1));
                // A pattern that the crate `regex` does not support is left to the decoding of the Rust type.
                object.keys.extend(regex::Regex::new(pattern).ok().filter(|_| is_map));
            }
            if object.keys.len() < object.others.len() {
                object.keys.clear();
            }
        }
        object
    }

    fn checks_of(&mut self, schema: &Map<String, Value>, checks: &mut Checks) {
        let bound = |key: &str| schema.get(key).and_then(Bound::of);
        let count = |key: &str| {
            schema.get(key).and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok())
        };
        checks.minimum = bound("minimum").or(checks.minimum);
        checks.maximum = bound("maximum").or(checks.maximum);
        checks.above = bound("exclusiveMinimum").or(checks.above);
        checks.below = bound("exclusiveMaximum").or(checks.below);
        checks.min_length = count("minLength").or(checks.min_length);
        checks.max_length = count("maxLength").or(checks.max_length);
        checks.min_items = count("minItems").or(checks.min_items);
        checks.max_items = count("maxItems").or(checks.max_items);
        checks.min_members = count("minProperties").or(checks.min_members);
        checks.max_members = count("maxProperties").or(checks.max_members);
        checks.multiple_of = bound("multipleOf").or(checks.multiple_of);
        checks.distinct |= schema.get("uniqueItems") == Some(&Value::Bool(true));
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            self.pattern(pattern, checks);
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str) {
            match integer_range(format) {
                // The width of Rust's integer type becomes a range instead of a format.
                Some((low, high)) => {
                    checks.counts = low == 0 && high > u16::MAX.into();
                    checks.minimum = checks.minimum.or(Some(Bound::Int(low)));
                    checks.maximum = checks.maximum.or(Some(Bound::Int(high)));
                }
                None if format == "uint" => checks.counts = true,
                None if format == "float" => checks.single = true,
                None if matches!(format, "double" | "int") => {}
                None => match Format::from_name(format) {
                    Some(format) => checks.format = Some(format),
                    None => checks.other_format = Some(format.to_owned()),
                },
            }
        }
    }

    fn pattern(&mut self, pattern: &str, checks: &mut Checks) {
        match regex::Regex::new(pattern) {
            Ok(regex) => checks.patterns.push(regex),
            Err(_) => self.problems.push(format!(
                "pattern `{pattern}` is not a regular expression that can be checked"
            )),
        }
    }

    /// Applies the constraints of an operation's table to a shape.
    pub(crate) fn constrain(&mut self, shape: &mut Shape, constraints: &[Constraint]) {
        for constraint in constraints {
            let checks = &mut shape.checks;
            checks.text_too |=
                matches!(constraint, Constraint::Minimum(_) | Constraint::Maximum(_));
            match *constraint {
                Constraint::Minimum(bound) => checks.minimum = Some(bound),
                Constraint::Maximum(bound) => checks.maximum = Some(bound),
                Constraint::MinLength(length) => checks.min_length = Some(length),
                Constraint::MaxLength(length) => checks.max_length = Some(length),
                Constraint::MinItems(count) => checks.min_items = Some(count),
                Constraint::MaxItems(count) => checks.max_items = Some(count),
                Constraint::Format(format) => checks.format = Some(format),
                Constraint::Enum(values) => {
                    checks.allowed = values.iter().map(enum_value).collect();
                }
                Constraint::Pattern(pattern) => self.pattern(pattern, checks),
            }
        }
    }
}

/// Returns a shape that accepts exactly this value.
fn constant(value: &Value) -> Shape {
    let mut shape = Shape::of(match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(number) if number.is_f64() => Kind::Number,
        Value::Number(_) => Kind::Integer,
        Value::String(_) => Kind::String,
        Value::Array(_) | Value::Object(_) => Kind::Any,
    });
    if !value.is_null() {
        shape.checks.allowed.push(value.clone());
    }
    shape
}

/// Combines several shapes. `null` becomes a flag, and constant strings become one enumeration.
fn unite(shapes: &mut Vec<Shape>) -> Shape {
    let before = shapes.len();
    shapes.retain(|shape| !matches!(shape.kind, Kind::Null));
    let nullable = shapes.len() < before;
    let choices = shapes
        .iter()
        .all(|shape| matches!(shape.kind, Kind::String) && !shape.checks.allowed.is_empty());
    let mut shape = match shapes.as_mut_slice() {
        [] => Shape::of(Kind::Null),
        [only] => std::mem::take(only),
        several if choices => {
            let mut shape = Shape::of(Kind::String);
            for choice in several {
                shape.checks.allowed.append(&mut choice.checks.allowed);
            }
            shape
        }
        _ => Shape::of(Kind::Union(std::mem::take(shapes))),
    };
    shape.nullable |= nullable;
    shape
}

fn enum_value(value: &EnumValue) -> Value {
    match *value {
        EnumValue::Str(text) => Value::from(text),
        EnumValue::Bool(flag) => Value::from(flag),
        EnumValue::Number(bound) => bound_value(bound),
    }
}

/// Converts a bound to JSON.
pub(crate) fn bound_value(bound: Bound) -> Value {
    match bound {
        Bound::Int(number) => i64::try_from(number)
            .map(Value::from)
            .or_else(|_| u64::try_from(number).map(Value::from))
            .unwrap_or(Value::Null),
        Bound::Float(number) => Value::from(number),
    }
}

/// Returns the range of an integer type, by its name in schemars.
fn integer_range(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" => (0, u64::MAX.into()),
        _ => return None,
    })
}
