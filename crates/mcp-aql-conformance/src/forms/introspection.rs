//! The forms of introspection replies.

use super::{CODE, Form, Member, is_snake_case, is_version, may, must};
use crate::category::Category;

fn is_category(text: &str) -> bool {
    Category::parse(text).is_some()
}

/// A semantic category of operations.
const CATEGORY: Form = Form::That(is_category, "CREATE, READ, UPDATE, DELETE or EXECUTE");

/// A kind of types.
const KIND: Form = Form::OneOf(&["enum", "object", "scalar", "union"]);

/// An entry of the list of operations (REQ-INT-03).
pub(crate) const LISTED_OPERATION: Form = Form::Object(&[
    must("name", Form::Word),
    must("semantic_category", CATEGORY),
    must("endpoint", Form::Word),
    must("description", Form::Text),
]);

/// The `_protocol` member (REQ-INT-04, REQ-INT-05, REQ-INT-07, REQ-INT-30). Further members are allowed.
pub(crate) const PROTOCOL: Form = Form::Open(&[
    must("version", Form::That(is_version, "a version such as 1.0.0 or 1.0.0-draft")),
    may("conformance", Form::Text),
    may("mode", Form::Text),
    may(
        "capabilities",
        Form::Open(&[
            may("batch", Form::Flag),
            may("field_selection", Form::Flag),
            may("aggregations", Form::Flag),
            may("computed_fields", Form::Flag),
            may("pagination", Form::Flag),
            may("relationship_queries", Form::Flag),
            may("warnings", Form::Flag),
            may("confirmation", Form::Flag),
            may("dangerous_operations", Form::Flag),
        ]),
    ),
    may("limits", Form::Open(LIMITS)),
    may("concurrency", Form::Text),
    may("supports_etag", Form::Flag),
    may("max_concurrent_requests", Form::Whole(1)),
    may("session_id", Form::Word),
]);

const LIMITS: &[Member] = &[
    may("max_request_size", Form::Whole(1)),
    may("max_response_size", Form::Whole(1)),
    may("max_string_length", Form::Whole(1)),
    may("max_array_elements", Form::Whole(1)),
    may("max_nesting_depth", Form::Whole(1)),
];

/// The details of an operation (REQ-INT-09, REQ-INT-10, REQ-INT-12, REQ-INT-14, REQ-INT-15). Other checks cover
/// `parameters` and the optional members.
pub(crate) const OPERATION: Form = Form::Object(&[
    must("name", Form::Word),
    must("semantic_category", CATEGORY),
    must("endpoint", Form::Word),
    must("mcpTool", Form::Word),
    must("description", Form::Text),
    must(
        "permissions",
        Form::Object(&[must("readOnly", Form::Flag), must("destructive", Form::Flag)]),
    ),
    must("parameters", Form::List(&Form::Any)),
    must("returns", TYPE_INFO),
    may("examples", Form::List(&EXAMPLE)),
    may("computed_fields", Form::Any),
    may("aggregation_support", Form::Any),
    may("relationship_capabilities", Form::Any),
    may("lifecycle", Form::Any),
]);

/// A type in a list, or the result type of an operation.
pub(crate) const TYPE_INFO: Form =
    Form::Object(&[must("name", Form::Word), must("kind", KIND), may("description", Form::Text)]);

const EXAMPLE: Form =
    Form::Object(&[must("request", Form::Open(&[])), may("description", Form::Text)]);

/// A parameter, or a field of a type (REQ-INT-13).
pub(crate) const PARAMETER: Form = Form::Object(&[
    must("name", Form::Word),
    must("type", Form::Word),
    must("required", Form::Flag),
    may("description", Form::Text),
    may("default", Form::Any),
    may("enum", Form::List(&Form::Any)),
    may("minimum", Form::Number),
    may("maximum", Form::Number),
    may("minLength", Form::Whole(0)),
    may("maxLength", Form::Whole(0)),
    may("pattern", Form::Text),
    may("format", Form::Text),
    may("items", Form::Open(&[])),
    may("sensitive", Form::Flag),
]);

/// The `computed_fields` member.
pub(crate) const COMPUTED_FIELDS: Form = Form::List(&Form::Object(&[
    must("name", Form::That(is_snake_case, "a name in snake_case, without `_computed.`")),
    must("type", Form::Word),
    may("description", Form::Text),
    may("filterable", Form::Flag),
    may("sortable", Form::Flag),
]));

/// The `aggregation_support` member.
pub(crate) const AGGREGATION_SUPPORT: Form = Form::Object(&[
    must("supported", Form::Flag),
    may("default_mode", Form::OneOf(&["summary_only", "include_items"])),
    may("functions", Form::List(&Form::OneOf(&["count", "group_by", "sum", "avg", "min", "max"]))),
    may("groupable_fields", Form::List(&Form::Word)),
    may("numeric_fields", Form::List(&Form::Word)),
]);

/// The `relationship_capabilities` member.
pub(crate) const RELATIONSHIP_CAPABILITIES: Form = Form::Object(&[
    must("supported", Form::Flag),
    may("directions", Form::List(&Form::OneOf(&["incoming", "outgoing", "both"]))),
    may("relationship_types", Form::List(&Form::Word)),
    may("max_depth", Form::Whole(1)),
]);

/// The `lifecycle` member.
pub(crate) const LIFECYCLE: Form = Form::Object(&[
    must("states", Form::Some(&Form::Word)),
    may("supports_cancel", Form::Flag),
    may("supports_retry", Form::Flag),
    may("progress_reporting", Form::Flag),
]);

/// Returns the form of a type's details for this kind of type (REQ-INT-18), or `None` for an unknown kind.
pub(crate) fn type_details(kind: &str) -> Option<&'static Form> {
    match kind {
        "enum" => Some(&ENUM),
        "object" => Some(&OBJECT),
        "union" => Some(&UNION),
        "scalar" => Some(&TYPE_INFO),
        _ => None,
    }
}

const ENUM: Form = Form::Object(&[
    must("name", Form::Word),
    must("kind", KIND),
    may("description", Form::Text),
    must("values", Form::List(&Form::Text)),
]);

const OBJECT: Form = Form::Object(&[
    must("name", Form::Word),
    must("kind", KIND),
    may("description", Form::Text),
    must("fields", Form::List(&PARAMETER)),
]);

const UNION: Form = Form::Object(&[
    must("name", Form::Word),
    must("kind", KIND),
    may("description", Form::Text),
    must("members", Form::List(&Form::Word)),
]);

/// A failure of `introspect` without details (REQ-INT-28).
pub(crate) const BARE_FAILURE: Form = Form::Object(&[
    must("success", Form::Just(false)),
    must("error", Form::Object(&[must("code", CODE), must("message", Form::Word)])),
]);
