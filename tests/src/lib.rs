//! The tests of the workspace, in the files beside this folder. This library holds the code that compile-fail cases
//! share, so that each case contains little more than its error.

use mcp_aql::query::ComputedFields;
use mcp_aql::query::IdentifiedResource;
use mcp_aql::table::Operation;
use mcp_aql::{Operations, Resource, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use serde_json::Value as Json;

/// A stand-in for `AdapterBuilder::operation`.
pub fn register<O: Operation>(_: O) {}

/// A stand-in for `AdapterBuilder::operations`.
pub fn register_all<O: Operations>(_: O) {}

/// A stand-in for an operation that lists resources.
pub fn identified<T: IdentifiedResource>() {}

/// A stand-in for a resource's model, which reads computed fields.
pub fn computed<T: ComputedFields>() {}

/// A resource with one updatable field.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
pub struct Task {
    /// Identifier.
    #[resource(id)]
    pub task_id: String,
    /// Short title.
    pub title: String,
}

/// A stand-in for a crate with a feature `serde` that schemars does not support.
pub mod foreign {
    use serde::{Deserialize, Serialize};

    /// A type without a JSON schema.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct OffsetDateTime;
}
