//! Code that the compile-fail cases share, so that each case contains little more than its mistake. The tests of the
//! workspace are in the files next to this folder.

use mcp_aql::query::ComputedFields;
use mcp_aql::query::IdentifiedResource;
use mcp_aql::table::Operation;
use mcp_aql::{Operations, Resource, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use serde_json::Value as Json;

/// Accepts what `AdapterBuilder::operation` accepts.
pub fn register<O: Operation>(_: O) {}

/// Accepts what `AdapterBuilder::operations` accepts.
pub fn register_all<O: Operations>(_: O) {}

/// Has the bounds of an operation that lists resources.
pub fn identified<T: IdentifiedResource>() {}

/// Has the bounds of a resource with computed fields.
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

/// Stands for a crate with a `serde` feature, but without support by schemars.
pub mod foreign {
    use serde::{Deserialize, Serialize};

    /// A type without a JSON schema.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct OffsetDateTime;
}
