//! Deserializes the answers of introspection, so that the pages show the same data that clients receive.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The contents of the member `_protocol`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Protocol {
    pub(super) version: String,
    pub(super) conformance: String,
    pub(super) concurrency: String,
    pub(super) capabilities: BTreeMap<String, bool>,
    pub(super) max_concurrent_requests: Option<usize>,
}

/// A parameter or field, as shown by introspection.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Info {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) description: String,
    pub(super) default: Option<Value>,
    #[serde(rename = "enum")]
    pub(super) allowed: Vec<Value>,
    pub(super) minimum: Option<Value>,
    pub(super) maximum: Option<Value>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) pattern: Option<String>,
    pub(super) format: Option<String>,
    pub(super) items: Option<Box<Info>>,
    pub(super) sensitive: bool,
}

#[derive(Deserialize)]
pub(super) struct OneOperation {
    pub(super) operation: OperationInfo,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OperationInfo {
    #[serde(rename = "mcpTool")]
    pub(super) tool: String,
    pub(super) parameters: Vec<Info>,
    pub(super) returns: ReturnsInfo,
    pub(super) examples: Vec<ExampleInfo>,
}

#[derive(Deserialize)]
pub(super) struct ExampleInfo {
    #[serde(default)]
    pub(super) description: String,
    pub(super) request: RequestInfo,
}

#[derive(Deserialize)]
pub(super) struct RequestInfo {
    pub(super) params: Box<RawValue>,
}

#[derive(Deserialize)]
pub(super) struct OneType {
    pub(super) r#type: TypeInfo,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TypeInfo {
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) fields: Vec<Info>,
    pub(super) values: Vec<Value>,
    pub(super) members: Vec<String>,
}

/// The types of the registry, by name.
pub(super) type Types = BTreeMap<String, TypeInfo>;

/// The result of an operation.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ReturnsInfo {
    pub(super) name: String,
    pub(super) description: String,
}
