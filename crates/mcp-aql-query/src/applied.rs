//! The controls that a reply reports as applied (REQ-COL-10).

use serde_json::Value;

use mcp_aql_core::internal::schema::ReportedFields;

/// The controls reported as applied (REQ-COL-10), for example:
///
/// ```json
/// { "filter": { "status": "open" }, "sort": [{ "field": "due", "order": "asc" }], "first": 20 }
/// ```
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(crate) struct Applied {
    /// The search terms. A row matches if it contains at least one of them.
    #[serde(rename = "query", skip_serializing_if = "Option::is_none")]
    pub(crate) terms: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sort: Vec<AppliedKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<ReportedFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page_size: Option<usize>,
}

/// One sort key.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct AppliedKey {
    pub(crate) field: String,
    pub(crate) order: &'static str,
}
