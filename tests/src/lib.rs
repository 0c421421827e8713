//! Tests of the workspace; see the files beside this folder. This library holds what compile-fail
//! cases share, so that each of them shows its fault and little else.

use mcp_aql::query::ComputedFields;
use mcp_aql::{Identified, Operation, Operations, Resource, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use serde_json::Value as Json;

/// Stands for `AdapterBuilder::operation`.
pub fn register<O: Operation>(_: O) {}

/// Stands for `AdapterBuilder::operations`.
pub fn register_all<O: Operations>(_: O) {}

/// Stands for an operation that lists resources.
pub fn identified<T: Identified>() {}

/// Stands for a resource's model, which reads what is computed.
pub fn computed<T: ComputedFields>() {}

/// A resource with one field that may change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
pub struct Task {
    /// Identifier.
    #[resource(id)]
    pub task_id: String,
    /// Short title.
    pub title: String,
}

/// Stands for a crate that has a feature `serde` and that schemars does not know.
pub mod foreign {
    use serde::{Deserialize, Serialize};

    /// A type without a JSON schema.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct OffsetDateTime;
}
