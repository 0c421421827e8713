use mcp_aql::prelude::*;

struct TaskError;

/// Find a task.
#[operation(category = "READ")]
fn get_task() -> Result<String, TaskError> {
    Err(TaskError)
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
