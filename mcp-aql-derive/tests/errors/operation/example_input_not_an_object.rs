use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Change a task.
#[operation(category = "UPDATE", example = { "task_id": "t-1", "input": "title" })]
fn update_task(
    /// Which one.
    task_id: String,
    input: Update<Task>,
) {
    let _ = (task_id, input);
}

fn main() {
    mcp_aql_tests::register(update_task {}); // must not add a second error
}
