use mcp_aql::prelude::*;

struct TaskError;

/// Find a task.
#[operation(category = "READ")]
fn get_task() -> Result<String, TaskError> {
    Err(TaskError)
}

fn main() {}
