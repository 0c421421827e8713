use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema)]
struct Task {
    /// Title.
    title: String,
}

/// Create a task.
#[operation(category = "CREATE")]
fn create_task(input: Create<Task>) {}

fn main() {}
