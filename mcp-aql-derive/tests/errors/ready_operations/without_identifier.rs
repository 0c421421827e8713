use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Task {
    /// Number of the task.
    task_id: u32,
    /// Title.
    title: String,
}

fn main() {}
