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
        "`list_issues`: a JSON schema must be an object",
        "`list_issues`: an example is not a valid call",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}
