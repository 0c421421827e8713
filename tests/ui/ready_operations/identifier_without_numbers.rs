use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(get))]
struct Task {
    /// Code of the task.
    #[resource(id)]
    task_id: u128,
}

fn main() {
    let _ = Adapter::builder("tasks").resource(MemoryRecords::<Task>::new());
}
