use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
struct Task {
    /// Number of the task.
    #[resource(id)]
    task_id: u32,
    /// Title.
    title: String,
}

fn main() {
    let _ = Adapter::builder("tasks").resource(MemoryRecords::<Task>::new());
}
