//! Validates reports against the published JSON schema.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::tests::{faultless, report, unreached};
use super::*;

/// Keywords of JSON schemas evaluated by [`faults`], and keywords without constraints.
const KEYWORDS: [&str; 14] = [
    "$ref",
    "$defs",
    "$schema",
    "additionalProperties",
    "const",
    "description",
    "enum",
    "items",
    "maximum",
    "minimum",
    "pattern",
    "properties",
    "required",
    "title",
];

/// Returns the violations of the schema by a value.
fn faults(schema: &Value, value: &Value, path: &str, root: &Value) -> Vec<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return faults(root.pointer(reference.trim_start_matches('#')).unwrap(), value, path, root);
    }
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{path}: {what}"));
        }
    };
    if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        expect(
            match kind {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_u64(),
                "boolean" => value.is_boolean(),
                other => panic!("the type {other} is not evaluated"),
            },
            kind,
        );
    }
    if let Some(expected) = schema.get("const") {
        expect(value == expected, "const");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        expect(values.contains(value), "enum");
    }
    if let (Some(least), Some(number)) = (schema.get("minimum"), value.as_u64()) {
        expect(number >= least.as_u64().unwrap(), "minimum");
    }
    if let (Some(most), Some(number)) = (schema.get("maximum"), value.as_u64()) {
        expect(number <= most.as_u64().unwrap(), "maximum");
    }
    if let (Some(pattern), Some(text)) =
        (schema.get("pattern").and_then(Value::as_str), value.as_str())
    {
        expect(regex::Regex::new(pattern).unwrap().is_match(text), "pattern");
    }
    if let Some(object) = value.as_object() {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            expect(object.contains_key(name.as_str().unwrap()), &format!("{name} is missing"));
        }
        let other = schema.get("additionalProperties").filter(|it| it.is_object());
        for (name, member) in object {
            let member_schema = schema.get("properties").and_then(|all| all.get(name)).or(other);
            if let Some(member_schema) = member_schema {
                found.extend(faults(member_schema, member, &format!("{path}/{name}"), root));
            }
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (at, item) in list.iter().enumerate() {
            found.extend(faults(items, item, &format!("{path}/{at}"), root));
        }
    }
    found
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

#[test]
fn reports_have_the_form_of_the_schema() {
    // REQ-CNF-14
    let schema = schema();
    for report in [report("semantic"), faultless(1), faultless(2), unreached("it is not there")] {
        let value = serde_json::to_value(&report).unwrap();
        assert_eq!(faults(&schema, &value, "", &schema), [""; 0]);
    }
    let mut value = serde_json::to_value(report("semantic")).unwrap();
    value["schemaVersion"] = json!(2);
    value["coverage"]["percent"] = json!(101);
    value["categories"][0]["checks"][0]["verdict"] = json!("ok");
    value["categories"][0]["checks"][0].as_object_mut().unwrap().remove("id");
    assert_eq!(faults(&schema, &value, "", &schema).len(), 4);
}

#[test]
fn schema_names_every_member() {
    let schema = schema();
    let value = serde_json::to_value(report("x")).unwrap();
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let described = |pointer: &str| names(schema.pointer(pointer).unwrap());
    let check = &value["categories"][0]["checks"][0];
    for (of, pointer) in [
        (&value, "/properties"),
        (&value["coverage"], "/$defs/coverage/properties"),
        (&value["summary"], "/$defs/summary/properties"),
        (&value["noLongerFound"][0], "/$defs/acceptedFinding/properties"),
        (check, "/$defs/check/properties"),
        (&check["findings"][0], "/$defs/finding/properties"),
        (&check["findings"][0]["differences"][0], "/$defs/difference/properties"),
    ] {
        let unknown: Vec<_> = names(of).difference(&described(pointer)).cloned().collect();
        assert_eq!(unknown, [""; 0], "{pointer}");
    }
}

#[test]
fn every_keyword_of_the_schema_is_evaluated() {
    fn keywords(schema: &Value, found: &mut BTreeSet<String>) {
        let Some(object) = schema.as_object() else { return };
        found.extend(object.keys().cloned());
        for name in ["properties", "$defs"] {
            let members = object.get(name).and_then(Value::as_object);
            members.into_iter().flatten().for_each(|(_, member)| keywords(member, found));
        }
        for name in ["items", "additionalProperties"] {
            object.get(name).into_iter().for_each(|member| keywords(member, found));
        }
    }
    let mut found = BTreeSet::new();
    keywords(&schema(), &mut found);
    found.remove("type");
    let unknown: Vec<_> = found.iter().filter(|it| !KEYWORDS.contains(&it.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
