//! Combines references with the keywords beside them.
//!
//! schemars writes a variant with an internal tag as a reference to the variant's type, beside the property of the tag:
//! `{ "$ref": "#/$defs/Circle", "properties": { "type": { "const": "circle" } } }`. A value has to match both.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

type Definitions = Map<String, Value>;
type Object = Map<String, Value>;

/// The keywords that say which members a value has.
const STRUCTURAL: [&str; 2] = ["properties", "required"];
/// The keywords with alternatives.
const ALTERNATIVES: [&str; 2] = ["oneOf", "anyOf"];
/// The maximum number of references that are followed for one value. A type may refer to itself.
const MAX_REFERENCES: usize = 16;

/// Returns a schema in which no reference has further members beside it.
pub(super) fn resolved<'a>(schema: &'a Value, definitions: &Definitions) -> Cow<'a, Value> {
    match has_members_beside_reference(schema) {
        true => Cow::Owned(resolve(schema, definitions)),
        false => Cow::Borrowed(schema),
    }
}

fn is_beside_reference(schema: &Object) -> bool {
    schema.contains_key("$ref") && STRUCTURAL.iter().any(|key| schema.contains_key(*key))
}

// schemars has built the schema, so it is as deep as the source of a type.
fn has_members_beside_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            is_beside_reference(object) || object.values().any(has_members_beside_reference)
        }
        Value::Array(items) => items.iter().any(has_members_beside_reference),
        _ => false,
    }
}

fn resolve(schema: &Value, definitions: &Definitions) -> Value {
    match schema {
        Value::Object(object) => {
            let inner =
                object.iter().map(|(name, value)| (name.clone(), resolve(value, definitions)));
            let object: Object = inner.collect();
            match is_beside_reference(&object) {
                true => combined(&object, &Object::new(), definitions, MAX_REFERENCES),
                false => Value::Object(object),
            }
        }
        Value::Array(items) => items.iter().map(|item| resolve(item, definitions)).collect(),
        other => other.clone(),
    }
}

/// Returns a schema of the values that match a schema and have further members.
fn combined(schema: &Object, members: &Object, definitions: &Definitions, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return Value::Bool(true) };
    let mut own = schema.clone();
    add_members(&mut own, members);
    if let Some(Value::String(path)) = own.remove("$ref") {
        let name = path.rsplit('/').next().unwrap_or_default();
        let target = definitions.get(name).and_then(Value::as_object);
        let mut combination = match target {
            Some(target) => combined(target, &own, definitions, depth),
            None => return Value::Bool(true),
        };
        // What the variant says about itself takes precedence.
        if let (Value::Object(combination), Some(description)) =
            (&mut combination, own.get("description"))
        {
            combination.insert("description".to_owned(), description.clone());
        }
        return combination;
    }
    for key in ALTERNATIVES {
        let Some(Value::Array(alternatives)) = own.remove(key) else { continue };
        let each = alternatives.iter().map(|alternative| match alternative {
            Value::Object(alternative) => combined(alternative, &own, definitions, depth),
            other => other.clone(),
        });
        let each: Vec<_> = each.collect();
        let mut union = Object::new();
        union.insert(key.to_owned(), each.into());
        union.extend(own.remove_entry("description"));
        return Value::Object(union);
    }
    own.insert("type".to_owned(), json!("object"));
    Value::Object(own)
}

/// Adds properties and their names in `required`. Those of the schema itself come last, so that the tag is the first
/// member.
fn add_members(schema: &mut Object, members: &Object) {
    if let Some(Value::Object(more)) = members.get("properties") {
        let mut properties = more.clone();
        if let Some(Value::Object(own)) = schema.remove("properties") {
            properties.extend(own);
        }
        schema.insert("properties".to_owned(), properties.into());
    }
    if let Some(Value::Array(more)) = members.get("required") {
        let mut required = more.clone();
        if let Some(Value::Array(own)) = schema.remove("required") {
            required.extend(own);
        }
        schema.insert("required".to_owned(), required.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions() -> Definitions {
        let definitions = json!({
            "Circle": {
                "type": "object", "description": "A circle.",
                "properties": { "radius": { "type": "number" } }, "required": ["radius"],
            },
            "Any": { "oneOf": [{ "$ref": "#/$defs/Circle" }, { "type": "object", "properties": { "side": true } }] },
            "Loop": { "oneOf": [{ "$ref": "#/$defs/Loop", "properties": { "again": true } }] },
        });
        definitions.as_object().cloned().unwrap_or_default()
    }

    fn tagged(name: &str) -> Value {
        json!({ "$ref": format!("#/$defs/{name}"), "type": "object", "properties": { "type": { "const": "x" } }, "required": ["type"] })
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
        for (place, member) in [(0, "radius"), (1, "side")] {
            let properties = &list["items"]["oneOf"][place]["properties"];
            assert!(properties.get("type").is_some() && properties.get(member).is_some(), "{list}");
        }
    }

    #[test]
    fn other_schemas_stay_as_they_are() {
        for schema in [
            json!(true),
            json!({ "$ref": "#/$defs/Circle", "description": "It." }),
            json!({ "anyOf": [] }),
        ] {
            assert!(matches!(resolved(&schema, &definitions()), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn a_type_that_contains_itself_ends() {
        assert!(resolved(&tagged("Loop"), &definitions()).to_string().len() < 4_000);
        assert_eq!(*resolved(&tagged("Missing"), &definitions()), json!(true));
    }
}
