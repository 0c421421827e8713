//! Finds what validation would not enforce in a JSON schema.
//!
//! The shape of a Rust type need not express everything, because decoding into the type checks the value once more. The
//! schema of a [`DynamicOperation`](crate::table::DynamicOperation) has no second check, so `build()` rejects schemas
//! that its shape cannot express:
//!
//! ```json
//! { "type": "string", "not": { "const": "root" } }
//! ```

use std::collections::BTreeMap;
use std::fmt::Display;

use serde_json::{Map, Value};

use super::shape::MAX_DEPTH;

pub(crate) type SchemaObject = Map<String, Value>;

/// Keywords that restrict values in ways that shapes do not express, and what to write instead.
const NOT_ENFORCED: [(&str, &str); 16] = [
    ("not", "describe the allowed values"),
    ("if", "write one schema for each case, in `oneOf`"),
    ("then", "write one schema for each case, in `oneOf`"),
    ("else", "write one schema for each case, in `oneOf`"),
    ("contains", "describe all items with `items`"),
    ("minContains", "describe all items with `items`"),
    ("maxContains", "describe all items with `items`"),
    ("dependentRequired", "write one schema for each case, in `oneOf`"),
    ("dependentSchemas", "write one schema for each case, in `oneOf`"),
    ("dependencies", "write one schema for each case, in `oneOf`"),
    ("propertyNames", "write `patternProperties` and `\"additionalProperties\": false`"),
    ("unevaluatedItems", "write `prefixItems`"),
    ("additionalItems", "write `prefixItems`"),
    ("$dynamicRef", "write `$ref`"),
    ("$recursiveRef", "write `$ref`"),
    ("nullable", "write `\"type\": [\"…\", \"null\"]`"),
];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
/// Keywords with the members of an object.
const MEMBERS: [&str; 4] =
    ["properties", "required", "additionalProperties", "unevaluatedProperties"];
/// Further keywords that determine the kind of a value.
const KINDS: [&str; 6] = ["type", "items", "prefixItems", "patternProperties", "const", "enum"];
/// Keywords with schemas that apply to the same value.
const PARTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Maximum number of references followed for one value.
const MAX_REFERENCES: usize = 16;

/// Returns what validation would not enforce in the schema of a value.
pub(crate) fn problems(schema: &Value) -> Vec<String> {
    let definitions =
        ["$defs", "definitions"].map(|key| schema.get(key).and_then(Value::as_object));
    let mut examiner = Examiner { definitions, found: Vec::new() };
    examiner.schema(schema, "", 0);
    examiner.found
}

struct Examiner<'a> {
    definitions: [Option<&'a SchemaObject>; 2],
    found: Vec<String>,
}

impl<'a> Examiner<'a> {
    fn push(&mut self, path: &str, problem: impl Display) {
        self.found.push(match path {
            "" => problem.to_string(),
            path => format!("in `{path}`, {problem}"),
        });
    }

    fn schema(&mut self, schema: &'a Value, path: &str, depth: usize) {
        if depth >= MAX_DEPTH {
            return self.push("", format_args!("it is more than {MAX_DEPTH} levels deep"));
        }
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(_) => return,
            _ => return self.push(path, "a JSON schema must be an object, `true` or `false`"),
        };
        self.keywords(schema, path, depth);
        self.combination(schema, path);
        for (key, part) in schema {
            let at = |name: &dyn Display| match path {
                "" => format!("{key}{name}"),
                path => format!("{path}.{key}{name}"),
            };
            match (key.as_str(), part) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions",
                    Value::Object(parts),
                ) => {
                    for (name, part) in parts {
                        self.schema(part, &at(&format_args!(".{name}")), depth + 1);
                    }
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                    for (index, part) in parts.iter().enumerate() {
                        self.schema(part, &at(&format_args!("[{index}]")), depth + 1);
                    }
                }
                ("items" | "additionalProperties" | "unevaluatedProperties", part) => {
                    self.schema(part, &at(&""), depth + 1);
                }
                _ => {}
            }
        }
    }

    /// Examines each keyword for itself.
    fn keywords(&mut self, schema: &'a SchemaObject, path: &str, depth: usize) {
        for (keyword, advice) in NOT_ENFORCED {
            // These restrict nothing with `false`, because a shape accepts exactly the items of `prefixItems`.
            let is_off = matches!(keyword, "nullable" | "unevaluatedItems" | "additionalItems")
                && schema.get(keyword) == Some(&Value::Bool(false));
            if schema.contains_key(keyword) && !is_off {
                self.push(path, format_args!("`{keyword}` cannot be checked: {advice}"));
            }
        }
        for (key, value) in schema {
            let (fits, form): (fn(&Value) -> bool, _) = match key.as_str() {
                "properties" | "patternProperties" | "$defs" | "definitions" => {
                    (Value::is_object, "an object")
                }
                "allOf" | "anyOf" | "oneOf" | "prefixItems" | "enum" | "required" => {
                    (Value::is_array, "a list")
                }
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                    (Value::is_number, "a number")
                }
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" => (Value::is_u64, "a whole number"),
                "pattern" => (Value::is_string, "a string"),
                "type" => (is_type, "one of the types of JSON"),
                _ => continue,
            };
            if !fits(value) {
                self.push(path, format_args!("`{key}` must be {form}"));
            }
        }
        self.patterns(schema, path);
        if depth > 0 && (schema.contains_key("$defs") || schema.contains_key("definitions")) {
            self.push(path, "`$defs` is only read at the top of the schema: move it there");
        }
        if let Some(reference) = schema.get("$ref")
            && self.followed(schema).is_none()
        {
            self.push(
                path,
                format_args!("{reference} is not a definition of the schema: write `#/$defs/…`"),
            );
        }
    }

    /// Examines the patterns for the names of members.
    fn patterns(&mut self, schema: &SchemaObject, path: &str) {
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            for pattern in patterns.keys().filter(|pattern| regex::Regex::new(pattern).is_err()) {
                self.push(
                    path,
                    format_args!(
                        "pattern `{pattern}` is not a regular expression that can be checked"
                    ),
                );
            }
            if schema.contains_key("properties")
                || schema.get("additionalProperties") != Some(&Value::Bool(false))
            {
                self.push(
                    path,
                    "`patternProperties` is only checked without `properties`, and with \
                     `\"additionalProperties\": false`",
                );
            }
        }
    }

    /// Examines keywords that apply to the same value. Shapes express the alternatives of a value, and the members of
    /// an object that several schemas describe.
    fn combination(&mut self, schema: &'a SchemaObject, path: &str) {
        let of_kind = |key: &&str| schema.contains_key(*key);
        let kinds = MEMBERS.iter().chain(&KINDS).copied().filter(of_kind).collect::<Vec<_>>();
        let parts = PARTS.iter().copied().chain(["$ref"]).filter(of_kind).collect::<Vec<_>>();
        let [first, rest @ ..] = parts.as_slice() else { return };
        // The type may be repeated beside the alternatives.
        let repeats_type = kinds == ["type"]
            && self.same_value(schema).all(|part| part.get("type") == schema.get("type"));
        if rest.is_empty() && (kinds.is_empty() || repeats_type) {
            let several = |parts: &Vec<Value>| parts.len() > 1;
            if *first != "allOf" || !schema["allOf"].as_array().is_some_and(several) {
                return;
            }
        }
        if !self.describes_object(schema, 0) {
            return self.push(
                path,
                format_args!(
                    "`{first}` is only combined with other keywords in schemas of objects: write one schema"
                ),
            );
        }
        let mut members = BTreeMap::new();
        let mut differing = Vec::new();
        self.members(schema, 0, &mut members, &mut differing);
        for name in differing {
            self.push(
                path,
                format_args!("the property `{name}` is described twice: describe it once"),
            );
        }
    }

    /// Collects the properties that all parts of an object describe. Only one alternative applies to a value, so
    /// alternatives are not compared with each other.
    fn members(
        &self,
        schema: &'a SchemaObject,
        depth: usize,
        members: &mut BTreeMap<&'a str, &'a Value>,
        differing: &mut Vec<&'a str>,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if *members.entry(name).or_insert(property) != property && !differing.contains(&&**name)
            {
                differing.push(name);
            }
        }
        if depth >= MAX_REFERENCES {
            return;
        }
        if let Some(target) = schema.get("$ref").and_then(|reference| self.target(reference)) {
            self.members(target, depth + 1, members, differing);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let Value::Object(part) = part {
                self.members(part, depth + 1, members, differing);
            }
        }
        for key in ["anyOf", "oneOf"] {
            for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                if let Value::Object(part) = part {
                    self.members(part, depth + 1, &mut members.clone(), differing);
                }
            }
        }
    }

    /// Returns `true` if all values of a schema are objects.
    fn describes_object(&self, schema: &'a SchemaObject, depth: usize) -> bool {
        if depth >= MAX_REFERENCES {
            return false;
        }
        let has_members = MEMBERS.iter().any(|key| schema.contains_key(*key));
        let is_object = match schema.get("type") {
            Some(kind) => kind == "object",
            None => has_members && !KINDS.iter().any(|key| schema.contains_key(*key)),
        };
        let mut parts = self.same_value(schema).peekable();
        let has_parts = parts.peek().is_some();
        (is_object || (has_parts && !has_members && schema.get("type").is_none()))
            && parts.all(|part| self.describes_object(part, depth + 1))
    }

    /// Returns the schemas that apply to the same value, with the targets of references.
    fn same_value(&self, schema: &'a SchemaObject) -> impl Iterator<Item = &'a SchemaObject> {
        let parts = PARTS.iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
        let parts = parts.filter_map(Value::as_object);
        let target = schema.get("$ref").and_then(|reference| self.target(reference));
        parts.chain(target)
    }

    /// Follows the references of a schema. Returns `None` if one refers to nothing, or only to itself.
    fn followed(&self, mut schema: &'a SchemaObject) -> Option<&'a SchemaObject> {
        for _ in 0..MAX_REFERENCES {
            match schema.get("$ref") {
                Some(reference) => schema = self.target(reference)?,
                None => return Some(schema),
            }
        }
        None
    }

    fn target(&self, reference: &Value) -> Option<&'a SchemaObject> {
        let path = reference.as_str()?;
        let prefixes = ["#/$defs/", "#/definitions/"];
        prefixes.iter().zip(self.definitions).find_map(|(prefix, definitions)| {
            definitions?.get(path.strip_prefix(prefix)?)?.as_object()
        })
    }
}

fn is_type(value: &Value) -> bool {
    match value {
        Value::Array(types) => types.iter().all(|kind| kind.is_string() && is_type(kind)),
        kind => kind.as_str().is_some_and(|kind| TYPES.contains(&kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems_of(schema: &Value) -> String {
        problems(schema).join("\n")
    }

    #[test]
    fn schemas_that_shapes_express_have_no_problems() {
        for schema in [
            json!(true),
            json!({ "type": ["string", "null"], "minLength": 2, "pattern": "^a", "title": "A", "x-unit": "m" }),
            json!({ "enum": ["a", 1, null], "deprecated": true, "readOnly": false }),
            json!({ "type": "array", "uniqueItems": true, "items": { "multipleOf": 5 } }),
            json!({ "$defs": { "A": { "type": "integer" } }, "$ref": "#/$defs/A", "minimum": 1 }),
            json!({ "definitions": { "A": { "type": "integer" } }, "items": { "$ref": "#/definitions/A" } }),
            json!({ "type": "string", "anyOf": [{ "type": "string", "format": "date" }, { "type": "string", "format": "uri" }] }),
            json!({ "allOf": [{ "type": "string" }], "description": "It.", "minLength": 2 }),
            json!({ "type": "object", "patternProperties": { "^a": true }, "additionalProperties": false, "minProperties": 1 }),
            json!({
                "$defs": {
                    "A": { "type": "object", "properties": { "a": true, "b": { "type": "string" } } },
                    "B": { "allOf": [{ "$ref": "#/$defs/A" }, { "required": ["a"] }] },
                },
                "type": "object", "properties": { "c": true }, "required": ["d"],
                "oneOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }],
            }),
        ] {
            assert_eq!(problems_of(&schema), "", "{schema}");
        }
    }

    #[test]
    fn what_shapes_do_not_express_is_reported() {
        let deep = (0..70).fold(json!(true), |inner, _| json!({ "items": inner }));
        for (schema, expected) in [
            (json!("string"), "must be an object"),
            (
                json!({ "properties": { "a": { "not": {} } } }),
                "in `properties.a`, `not` cannot be checked",
            ),
            (json!({ "if": true, "then": false }), "`then` cannot be checked"),
            (json!({ "type": "file" }), "`type` must be one of"),
            (json!({ "exclusiveMinimum": true }), "`exclusiveMinimum` must be a number"),
            (json!({ "items": [{}, {}] }), "in `items`, a JSON schema must be"),
            (json!({ "minLength": -1 }), "`minLength` must be a whole number"),
            (json!({ "type": "string", "nullable": true }), "`nullable` cannot be checked"),
            (
                json!({ "patternProperties": { "(?=a)": true }, "additionalProperties": false }),
                "pattern `(?=a)`",
            ),
            (json!({ "patternProperties": { "a": true } }), "`patternProperties` is only checked"),
            (json!({ "items": { "$defs": { "A": true } } }), "in `items`, `$defs` is only read"),
            (json!({ "$ref": "#" }), "is not a definition"),
            (json!({ "$ref": "https://example.test/a" }), "is not a definition"),
            (
                json!({ "$defs": { "A": { "$ref": "#/$defs/A" } }, "$ref": "#/$defs/A" }),
                "is not a definition",
            ),
            (
                json!({ "type": "string", "anyOf": [{ "format": "date" }, { "type": "string" }] }),
                "`anyOf` is only combined",
            ),
            (
                json!({ "type": "string", "allOf": [{ "minLength": 2 }, { "pattern": "a" }] }),
                "`allOf` is only combined",
            ),
            (
                json!({ "anyOf": [{ "type": "object" }], "oneOf": [{ "type": "string" }] }),
                "`anyOf` is only combined",
            ),
            (
                json!({ "$defs": { "A": { "type": "string" } }, "$ref": "#/$defs/A", "enum": ["a"] }),
                "`$ref` is only combined",
            ),
            (
                json!({ "properties": { "a": { "type": "string" } }, "oneOf": [{ "properties": { "a": { "const": "b" } } }] }),
                "the property `a` is described twice",
            ),
            (deep, "more than 64 levels deep"),
        ] {
            let found = problems_of(&schema);
            assert!(found.contains(expected), "{schema}: {found}");
        }
    }
}
