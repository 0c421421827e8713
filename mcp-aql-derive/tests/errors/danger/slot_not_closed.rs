use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE", danger(confirmation_message = "Delete task '{task_id'?"))]
fn delete_task(
    /// Which one.
    task_id: String,
) {
    drop(task_id);
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
