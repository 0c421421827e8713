use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Title.
    title: String,
}

/// Create a task.
#[operation(category = "CREATE")]
fn create_task(#[param(sensitive)] input: Option<Create<Task>>) {}

fn main() {}
