//! Merges the parts of an object's schema, and lists its forms if the parts have alternatives.
//!
//! schemars describes a variant with an internal tag by a reference to the type of the variant, next to the property
//! of the tag. A value must match both parts:
//!
//! ```json
//! { "$ref": "#/$defs/Circle", "properties": { "type": { "const": "circle" } } }
//! ```
//!
//! In the same way, a struct with a flattened enum has its own properties next to the alternatives of the enum. The
//! module turns both into one object for each combination of alternatives, as schemars writes an enum whose variants
//! are structs.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::schema::keywords::SchemaObject;

/// Keywords that define the members of an object.
const STRUCTURAL: [&str; 2] = ["properties", "required"];
/// Keywords with alternatives.
const ALTERNATIVES: [&str; 2] = ["oneOf", "anyOf"];
/// Maximum number of references followed for one value. The limit is needed because a type may refer to itself.
const MAX_REFERENCES: usize = 16;
/// Maximum number of forms in one schema. If there are more, only decoding into the Rust type checks the values.
const MAX_FORMS: usize = 256;

/// Returns an equivalent schema in which every object lists all of its members.
pub(super) fn resolved<'a>(schema: &'a Value, definitions: &SchemaObject) -> Cow<'a, Value> {
    match has_parts(schema) {
        true => Cow::Owned(Forms { definitions, left: MAX_FORMS }.resolve(schema)),
        false => Cow::Borrowed(schema),
    }
}

/// Returns `true` if the members of an object are spread over several parts.
fn is_in_parts(schema: &SchemaObject) -> bool {
    let has_members = STRUCTURAL.iter().any(|key| schema.contains_key(*key));
    let count = |key: &str| usize::from(schema.contains_key(key));
    let parts = schema.get("allOf").and_then(Value::as_array).map_or(0, Vec::len);
    let parts = parts + count("$ref") + count("oneOf") + count("anyOf");
    parts + usize::from(has_members) > 1
}

// The recursion is bounded: schemars built the schema, so it is only as deep as the source code of a type.
fn has_parts(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => is_in_parts(object) || object.values().any(has_parts),
        Value::Array(items) => items.iter().any(has_parts),
        _ => false,
    }
}

struct Forms<'a> {
    definitions: &'a SchemaObject,
    /// Remaining number of forms.
    left: usize,
}

impl Forms<'_> {
    fn resolve(&mut self, schema: &Value) -> Value {
        match schema {
            Value::Object(object) if is_in_parts(object) => self.united(object),
            Value::Object(object) => self.inside(object).into(),
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            other => other.clone(),
        }
    }

    fn inside(&mut self, object: &SchemaObject) -> SchemaObject {
        object.iter().map(|(name, value)| (name.clone(), self.resolve(value))).collect()
    }

    /// Returns the schema of one object, or a `oneOf` with its forms.
    fn united(&mut self, object: &SchemaObject) -> Value {
        let description = object.get("description").cloned();
        let forms = self.forms(object, MAX_REFERENCES);
        let forms = forms.filter(|forms| forms.len() <= self.left);
        self.left -= forms.as_ref().map_or(0, Vec::len);
        let mut forms = match forms {
            Some(forms) if !forms.is_empty() => forms,
            _ => vec![SchemaObject::new()],
        };
        for form in &mut forms {
            *form = self.inside(form);
            form.insert("type".to_owned(), json!("object"));
        }
        let mut united = match forms.as_mut_slice() {
            [only] => std::mem::take(only),
            _ => SchemaObject::from_iter([("oneOf".to_owned(), json!(forms))]),
        };
        // The description of the object itself takes precedence over those of its parts.
        united.extend(description.map(|text| ("description".to_owned(), text)));
        united.into()
    }

    /// Returns each possible set of members, or `None` if there are too many.
    fn forms(&self, schema: &SchemaObject, depth: usize) -> Option<Vec<SchemaObject>> {
        let depth = depth.checked_sub(1)?;
        let mut own = schema.clone();
        let reference = own.remove("$ref");
        let alternatives = ALTERNATIVES.map(|key| own.remove(key));
        let parts = own.remove("allOf");
        let is_divided = alternatives.iter().any(Option::is_some) || parts.is_some();
        if is_divided {
            own.remove("description");
        }
        let mut forms = own_forms(own);
        if let Some(Value::String(path)) = reference {
            let target = self.definitions.get(path.rsplit('/').next()?)?;
            forms = product(forms, self.alternatives([target], depth)?)?;
        }
        for alternatives in alternatives.iter().flatten().filter_map(Value::as_array) {
            forms = product(forms, self.alternatives(alternatives, depth)?)?;
        }
        for part in parts.iter().filter_map(Value::as_array).flatten() {
            forms = product(forms, self.alternatives([part], depth)?)?;
        }
        Some(forms)
    }

    fn alternatives<'a>(
        &self,
        schemas: impl IntoIterator<Item = &'a Value>,
        depth: usize,
    ) -> Option<Vec<SchemaObject>> {
        let mut forms = Vec::new();
        for schema in schemas {
            match schema {
                Value::Object(schema) => forms.extend(self.forms(schema, depth)?),
                Value::Bool(false) => {}
                _ => forms.push(SchemaObject::from_iter([(
                    "additionalProperties".to_owned(),
                    true.into(),
                )])),
            }
        }
        Some(forms)
    }
}

/// Returns the members that a schema defines itself, without references and alternatives.
///
/// serde serializes a unit variant next to a tag as a member with the value `null`. The result is empty for a schema
/// of anything but objects, because such a value cannot have members.
fn own_forms(mut schema: SchemaObject) -> Vec<SchemaObject> {
    let kind = schema.remove("type");
    if let Some(further) = schema.remove("unevaluatedProperties") {
        schema.entry("additionalProperties").or_insert(further);
    }
    match kind.as_ref().and_then(Value::as_str) {
        Some("object") => vec![schema],
        Some("null") => vec![SchemaObject::new()],
        Some("string") => {
            let one = schema.get("const").into_iter();
            let names =
                one.chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten());
            names.filter_map(Value::as_str).map(unit_variant).collect()
        }
        Some(_) => Vec::new(),
        None => vec![schema],
    }
}

fn unit_variant(name: &str) -> SchemaObject {
    let properties = SchemaObject::from_iter([(name.to_owned(), json!({ "type": "null" }))]);
    SchemaObject::from_iter([
        ("properties".to_owned(), properties.into()),
        ("required".to_owned(), json!([name])),
    ])
}

/// Combines each form of one list with each form of the other. Returns `None` if there are too many combinations.
fn product(some: Vec<SchemaObject>, others: Vec<SchemaObject>) -> Option<Vec<SchemaObject>> {
    let count = some.len().checked_mul(others.len())?;
    let both = || some.iter().flat_map(|one| others.iter().map(|other| merged(one, other)));
    (count <= MAX_FORMS).then(|| both().collect())
}

/// Merges the members of two forms. Those of the first form come first.
fn merged(one: &SchemaObject, other: &SchemaObject) -> SchemaObject {
    let mut form = one.clone();
    for (key, value) in other {
        match (form.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more))
                if matches!(key.as_str(), "properties" | "patternProperties") =>
            {
                for (name, property) in more {
                    known.entry(name.clone()).or_insert_with(|| property.clone());
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend_from_slice(more);
            }
            (Some(known @ Value::Bool(false)), further) if key == "additionalProperties" => {
                *known = further.clone();
            }
            (Some(_), _) => {}
            (None, value) => {
                form.insert(key.clone(), value.clone());
            }
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn definitions() -> SchemaObject {
        let definitions = json!({
            "Circle": {
                "type": "object", "description": "A circle.",
                "properties": { "radius": { "type": "number" } }, "required": ["radius"],
            },
            "Any": { "oneOf": [
                { "$ref": "#/$defs/Circle" },
                { "type": "object", "properties": { "side": true } },
                { "type": "string", "enum": ["point"] },
                { "type": "integer" },
            ] },
            "Loop": { "oneOf": [{ "$ref": "#/$defs/Loop", "properties": { "again": true } }] },
        });
        definitions.as_object().cloned().unwrap_or_default()
    }

    fn tagged(name: &str) -> Value {
        json!({ "$ref": format!("#/$defs/{name}"), "type": "object", "properties": { "type": { "const": "x" } }, "required": ["type"] })
    }

    fn names(form: &Value) -> BTreeSet<&str> {
        form["properties"].as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn a_tag_is_a_member_beside_those_of_the_type() {
        let circle = resolved(&tagged("Circle"), &definitions()).into_owned();
        assert_eq!(
            circle,
            json!({
                "type": "object", "description": "A circle.",
                "properties": { "type": { "const": "x" }, "radius": { "type": "number" } },
                "required": ["type", "radius"],
            })
        );
        let list = json!({ "type": "array", "items": tagged("Any") });
        let list = resolved(&list, &definitions());
        let forms = list["items"]["oneOf"].as_array().unwrap();
        assert_eq!(forms.len(), 3, "{list}");
        for (form, member) in forms.iter().zip(["radius", "side", "point"]) {
            assert_eq!(names(form), BTreeSet::from(["type", member]), "{list}");
        }
    }

    #[test]
    fn flattened_enums_are_combined() {
        let either = |names: [&str; 2]| json!({ "oneOf": names.map(|name| json!({ "type": "object", "properties": { name: true } })) });
        let schema = json!({
            "type": "object", "description": "It.", "properties": { "own": true },
            "allOf": [either(["a", "b"]), { "anyOf": [either(["c", "d"]), {}] }],
        });
        let forms = resolved(&schema, &definitions()).into_owned();
        let forms: Vec<_> = forms["oneOf"].as_array().unwrap().iter().map(names).collect();
        let expected: [&[&str]; 6] =
            [&["a", "c"], &["a", "d"], &["a"], &["b", "c"], &["b", "d"], &["b"]];
        let with_own = |names: &[&'static str]| names.iter().copied().chain(["own"]).collect();
        assert_eq!(forms, expected.map(with_own));
    }

    #[test]
    fn other_schemas_stay_as_they_are() {
        for schema in [
            json!(true),
            json!({ "$ref": "#/$defs/Circle", "description": "It." }),
            json!({ "allOf": [{ "$ref": "#/$defs/Circle" }], "description": "It." }),
            json!({ "anyOf": [] }),
        ] {
            assert!(matches!(resolved(&schema, &definitions()), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn a_type_with_too_many_forms_is_left_open() {
        let open = json!({ "type": "object" });
        assert_eq!(*resolved(&tagged("Loop"), &definitions()), open);
        assert_eq!(*resolved(&tagged("Missing"), &definitions()), open);
        let many =
            json!({ "oneOf": (0..20).map(|_| json!({ "type": "object" })).collect::<Vec<_>>() });
        let schema = json!({ "type": "object", "allOf": [many, many] });
        assert_eq!(*resolved(&schema, &definitions()), open);
    }
}
