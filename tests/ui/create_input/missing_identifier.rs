use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: u32,
    /// Title.
    title: String,
}

/// Create a task.
#[operation(category = "CREATE")]
fn create_task(input: Create<Task>) -> Task {
    input.into_resource(())
}

fn main() {}
