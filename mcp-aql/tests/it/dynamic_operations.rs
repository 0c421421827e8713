//! Tests of operations that are only known at run time.

use mcp_aql::SemanticCategory;
use mcp_aql::prelude::*;
use mcp_aql::table::{DynamicOperation, DynamicParameter};
use serde_json::{Value, json};

/// A label.
#[derive(serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Label {
    /// Its text.
    text: String,
    /// Its colour.
    colour: Option<String>,
}

/// Add a label to an issue.
#[operation(category = "CREATE", example = { "number": 7, "label": { "text": "bug" } })]
fn add_label(
    /// The number.
    #[param(minimum = 1)]
    number: u32,
    /// The label.
    label: Label,
    /// How the watchers are notified.
    #[param(default = "quiet", max_length = 10)]
    notice: String,
) -> Value {
    json!({ "number": number, "text": label.text, "notice": notice })
}

/// Returns the same operation with a JSON schema for each parameter.
fn dynamic_add_label() -> DynamicOperation {
    let label = json!({
        "$ref": "#/$defs/Label",
        "$defs": {
            "Label": {
                "type": "object",
                "description": "A label.",
                "properties": {
                    "text": { "type": "string", "description": "Its text." },
                    "colour": { "type": ["string", "null"], "description": "Its colour." },
                },
                "required": ["text"],
                "additionalProperties": false,
            },
        },
    });
    let number = json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX });
    let notice = json!({ "type": "string", "maxLength": 10 });
    DynamicOperation::new(
        "add_label",
        SemanticCategory::Create,
        "Add a label to an issue.",
        |params, _context| async move {
            Ok(json!({
                "number": params["number"],
                "text": params["label"]["text"],
                "notice": params["notice"],
            }))
        },
    )
    .parameter(DynamicParameter::required("number", "The issue's number.", number))
    .parameter(DynamicParameter::required("label", "The label.", label))
    .parameter(
        DynamicParameter::optional("notice", "How the watchers are notified.", notice)
            .default(json!("quiet")),
    )
    .example("", json!({ "number": 7, "label": { "text": "bug" } }))
}

fn adapters() -> [Adapter; 2] {
    let builder = || Adapter::builder("issues").without_config();
    let written = builder().operation(add_label {}).build().unwrap();
    [written, builder().dynamic_operation(dynamic_add_label()).build().unwrap()]
}

#[tokio::test]
async fn introspection_shows_the_same_table_as_for_a_function() {
    // REQ-RQ-12
    let [written, dynamic] = adapters();
    for query in [
        json!({ "query": "operations", "name": "add_label" }),
        json!({ "query": "operations" }),
        json!({ "query": "types", "name": "Label" }),
    ] {
        let [one, other] = [&written, &dynamic].map(|it| it.call("introspect", query.clone()));
        assert_eq!(one.await.data(), other.await.data(), "{query}");
    }
}

#[tokio::test]
async fn calls_are_validated_like_those_of_a_function() {
    // REQ-RQ-12, REQ-RQ-09
    let [written, dynamic] = adapters();
    for params in [
        json!({ "number": 7, "label": { "text": "bug" } }),
        json!({ "number": 7, "label": { "text": "bug", "colour": null }, "notice": "loud" }),
        json!({ "number": 0, "label": { "text": "bug" } }),
        json!({ "number": 1.5, "label": { "text": "bug" } }),
        json!({ "number": 7, "label": { "txt": "bug" } }),
        json!({ "number": 7, "labels": { "text": "bug" } }),
        json!({ "number": 7, "label": "bug", "notice": "as loud as it gets" }),
        json!({}),
    ] {
        let [one, other] = [&written, &dynamic].map(|it| it.call("add_label", params.clone()));
        let (one, other) = (one.await, other.await);
        assert_eq!(one.error().is_some(), other.error().is_some(), "{params}");
        match one.error() {
            Some(error) => {
                let other = other.error().unwrap();
                assert_eq!((&error.code, &error.message), (&other.code, &other.message));
            }
            None => assert_eq!(one.data(), other.data(), "{params}"),
        }
    }
}

#[tokio::test]
async fn gates_stand_before_a_dynamic_operation() {
    // REQ-DNG-05
    let close = DynamicOperation::new(
        "delete_issue",
        SemanticCategory::Delete,
        "Delete an issue.",
        |_params, _context| async { Ok(Value::Null) },
    )
    .parameter(DynamicParameter::required(
        "number",
        "The issue's number.",
        json!({ "type": "integer" }),
    ))
    .danger(mcp_aql::DangerLevel::Dangerous)
    .danger_reason("The issue and its comments are gone")
    .confirmation_message("Delete issue {number}?");
    let adapter =
        Adapter::builder("issues").without_config().dynamic_operation(close).build().unwrap();
    let asked = adapter.call("delete_issue", json!({ "number": 7 })).await;
    let error = asked.error().unwrap();
    assert_eq!(error.code, "CONFIRMATION_REQUIRED");
    let details = json!(error.details).to_string();
    assert!(details.contains("Delete issue 7?") && details.contains("comments"), "{details}");
}

#[test]
fn faults_of_a_dynamic_operation_are_reported_at_build() {
    // REQ-CLS-04, REQ-CLS-06
    let broken = |name: &str, category| {
        DynamicOperation::new(name, category, "", |_, _| async { Ok(Value::Null) })
    };
    let error = Adapter::builder("issues")
        .without_config()
        .dynamic_operation(broken("Get", SemanticCategory::Read))
        .dynamic_operation(broken("delete_issue", SemanticCategory::Read))
        .dynamic_operation(broken("update_issue", SemanticCategory::Update))
        .dynamic_operation(
            broken("list_issues", SemanticCategory::Read)
                .parameter(DynamicParameter::required("state", "", json!({ "pattern": "(" })))
                .returns(json!(7))
                .example("", json!({ "stat": "open" })),
        )
        .build()
        .unwrap_err()
        .to_string();
    for part in [
        "`Get` is not snake_case",
        "`Get` has no description",
        "`delete_issue` is READ, but its verb `delete` implies DELETE",
        "`update_issue` is UPDATE, but takes no `input",
        "pattern `(`",
        "`list_issues`: the schema of the result must be an object",
        "`list_issues`: an example is not a valid call",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Creates an adapter with one operation whose parameter has this schema.
fn with_schema(schema: &Value) -> Result<Adapter, mcp_aql::BuildError> {
    let operation = DynamicOperation::new(
        "get_value",
        SemanticCategory::Read,
        "Return a value.",
        |mut params, _context| async move { Ok(params["value"].take()) },
    )
    .parameter(DynamicParameter::required("value", "The value.", schema.clone()));
    Adapter::builder("values").dynamic_operation(operation).without_config().build()
}

#[tokio::test]
async fn every_keyword_of_a_schema_is_enforced() {
    // REQ-RQ-11. Each row has a schema, values that it accepts, and values that it rejects.
    let circle = json!({
        "A": { "type": "object", "properties": { "kind": { "const": "a" }, "side": { "type": "integer" } }, "required": ["kind"] },
        "B": { "type": "object", "properties": { "kind": { "const": "b" } }, "required": ["kind", "size"], "additionalProperties": true },
    });
    for (schema, accepted, rejected) in [
        (
            json!({ "type": "number", "multipleOf": 0.1 }),
            json!([0.3, 7, 0, -0.7]),
            json!([0.35, 0.01]),
        ),
        (json!({ "type": "integer", "multipleOf": 5 }), json!([0, 5, -10]), json!([1, 12])),
        (
            json!({ "type": "array", "uniqueItems": true }),
            json!([[], [1, "1", [1]]]),
            json!([[1, 1], [{ "a": 1 }, { "a": 1 }]]),
        ),
        (
            json!({ "type": "object", "required": ["a"] }),
            json!([{ "a": null }, { "a": 1, "b": 2 }]),
            json!([{}, { "b": 2 }]),
        ),
        (
            json!({ "required": ["a"], "additionalProperties": { "type": "string" } }),
            json!([{ "a": "x", "b": "y" }]),
            json!([{ "b": "y" }, { "a": 1 }, { "a": "x", "b": 1 }]),
        ),
        (
            json!({ "type": "object", "minProperties": 1, "maxProperties": 2 }),
            json!([{ "a": 1 }, { "a": 1, "b": 2 }]),
            json!([{}, { "a": 1, "b": 2, "c": 3 }]),
        ),
        (
            json!({ "items": { "type": "integer" }, "minItems": 1 }),
            json!([[1]]),
            json!([[], ["a"], "a"]),
        ),
        (
            json!({ "prefixItems": [{ "type": "integer" }, { "type": "string" }] }),
            json!([[1, "a"]]),
            json!([["a", 1], [1]]),
        ),
        (
            json!({ "type": "object", "patternProperties": { "^a": { "type": "integer" }, "z$": { "minimum": 5 } }, "additionalProperties": false }),
            json!([{ "a": 1, "az": 5, "z": 6 }, {}]),
            json!([{ "b": 1 }, { "a": "x" }, { "az": 1 }]),
        ),
        (
            json!({ "type": "string", "anyOf": [{ "type": "string", "format": "date" }, { "type": "string", "format": "uuid" }] }),
            json!(["2031-05-06", "67e55044-10b1-426f-9247-bb680e5fe0c8"]),
            json!(["x", 5, {}]),
        ),
        (
            json!({ "allOf": [{ "type": "string" }], "minLength": 2 }),
            json!(["ab"]),
            json!(["a", 5]),
        ),
        (
            json!({ "$defs": { "A": { "type": "integer" } }, "$ref": "#/$defs/A", "minimum": 1 }),
            json!([1]),
            json!([0, "1"]),
        ),
        (
            json!({ "$defs": circle, "oneOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }] }),
            json!([{ "kind": "a" }, { "kind": "a", "side": 2 }, { "kind": "b", "size": 3 }]),
            json!([{ "kind": "b" }, { "kind": "c" }, { "kind": "a", "side": "2" }, { "kind": "a", "other": 1 }]),
        ),
        (
            json!({ "$defs": circle, "allOf": [{ "$ref": "#/$defs/A" }, { "properties": { "size": { "type": "integer" } }, "required": ["size"] }] }),
            json!([{ "kind": "a", "size": 1 }]),
            json!([{ "kind": "a" }, { "size": 1 }, { "kind": "a", "size": "1" }]),
        ),
        (json!({ "const": { "a": [1] } }), json!([{ "a": [1] }]), json!([{ "a": [2] }, {}])),
        (json!({ "enum": [1, "a", null] }), json!([1, "a", null]), json!([2, "b", true])),
        (
            json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
            json!([0.5]),
            json!([0, 1]),
        ),
    ] {
        let adapter = with_schema(&schema).unwrap();
        for (values, fits) in [(accepted, true), (rejected, false)] {
            for value in values.as_array().unwrap() {
                let reply = adapter.call("get_value", json!({ "value": value })).await;
                assert_eq!(reply.error().is_none(), fits, "{schema} {value}: {:?}", reply.error());
            }
        }
    }
}

#[test]
fn what_cannot_be_enforced_prevents_the_start() {
    for (schema, expected) in [
        (json!({ "type": "string", "not": { "const": "root" } }), "`not` cannot be checked"),
        (json!({ "type": "string", "nullable": true }), "`nullable` cannot be checked"),
        (json!({ "$ref": "#/$defs/Missing" }), "is not a definition of the schema"),
        (
            json!({ "$defs": { "A": { "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "string" }] } }, "$ref": "#/$defs/A" }),
            "values of the type `A` would contain themselves without end",
        ),
    ] {
        let error = with_schema(&schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{schema}: {error}");
    }
}
