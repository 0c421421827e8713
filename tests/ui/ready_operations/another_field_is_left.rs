use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations(create))]
struct Task {
    /// Number of the task.
    #[resource(id)]
    task_id: u32,
    /// Time of the creation.
    #[resource(read_only)]
    created_at: String,
    /// Title.
    title: String,
}

fn main() {}
