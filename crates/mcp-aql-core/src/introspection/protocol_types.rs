//! Describes the protocol's own types for introspection.

use mcp_aql_protocol::SemanticCategory;

use super::type_details::object_type;
use crate::schema::shape::Members;

/// Returns the names and full entries of the protocol's own types (REQ-INT-23).
pub fn protocol_types() -> Vec<(String, Members)> {
    let object = |name: &str, description: &str, fields: &[(&str, &str, bool)]| {
        let fields = fields
            .iter()
            .map(|(name, kind, required)| {
                let mut field = Members::new();
                field.put("name", *name);
                field.put("type", *kind);
                field.put("required", *required);
                field
            })
            .collect();
        (name.to_owned(), object_type(name, Some(description), fields))
    };
    let mut category = Members::new();
    category.put("name", "SemanticCategory");
    category.put("kind", "enum");
    category.put("description", "What an operation does to stored state.");
    category.put("values", SemanticCategory::ALL.map(SemanticCategory::as_str).to_vec());
    let mut result = Members::new();
    result.put("name", "OperationResult");
    result.put("kind", "union");
    result.put("description", "Every reply.");
    result.put("members", vec!["OperationSuccess", "OperationFailure"]);
    vec![
        ("SemanticCategory".to_owned(), category),
        ("OperationResult".to_owned(), result),
        object(
            "OperationInput",
            "A request: one operation, or a batch in 'operations'.",
            &[("operation", "string", true), ("params", "object", false)],
        ),
        object(
            "OperationSuccess",
            "The reply of an operation that succeeded.",
            &[
                ("success", "boolean", true),
                ("data", "any", true),
                ("warnings", "array", false),
                ("results", "array", false),
                ("summary", "object", false),
            ],
        ),
        object(
            "OperationFailure",
            "The reply of an operation that failed.",
            &[("success", "boolean", true), ("error", "ErrorDetail", true)],
        ),
        object(
            "ErrorDetail",
            "The error of an operation.",
            &[("code", "string", true), ("message", "string", true), ("details", "object", false)],
        ),
        object(
            "EndpointPermissions",
            "Whether an operation only reads, and whether it removes or overwrites.",
            &[("readOnly", "boolean", true), ("destructive", "boolean", true)],
        ),
    ]
}
