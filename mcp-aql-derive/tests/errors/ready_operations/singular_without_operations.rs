use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(singular = "task")]
struct Task {
    /// Number of the task.
    #[resource(id)]
    task_id: u32,
    /// Title.
    title: String,
}

fn main() {}
