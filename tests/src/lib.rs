//! Tests of the workspace; see the files beside this folder. This library holds what compile-fail
//! cases share, so that each of them shows its fault and little else.

use mcp_aql::{Operation, Operations, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stands for `AdapterBuilder::operation`.
pub fn register<O: Operation>(_: O) {}

/// Stands for `AdapterBuilder::operations`.
pub fn register_all<O: Operations>(_: O) {}

/// A resource with one field that may change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub struct Task {
    /// Identifier.
    #[resource(id)]
    pub task_id: String,
    /// Short title.
    pub title: String,
}
