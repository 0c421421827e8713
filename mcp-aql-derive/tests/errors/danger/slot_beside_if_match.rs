use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE", danger(confirmation_message = "Delete {task}?"))]
fn delete_task(
    /// Which one.
    task_id: String,
    if_match: IfMatch,
) {
    let _ = (task_id, if_match);
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
