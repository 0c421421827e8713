use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE", danger(confirmation_message = "Delete '{number}' and '{task_id}'?"))]
fn delete_task(
    State(number): State<u32>,
    /// Which one.
    task_id: String,
) {
    let _ = (number, task_id);
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
