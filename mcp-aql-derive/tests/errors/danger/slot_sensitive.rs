use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE", danger(confirmation_message = "Delete '{task_id}' with '{pin}'?"))]
fn delete_task(
    /// Which one.
    task_id: String,
    /// The key.
    #[param(sensitive)]
    pin: String,
) {
    let _ = (task_id, pin);
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
