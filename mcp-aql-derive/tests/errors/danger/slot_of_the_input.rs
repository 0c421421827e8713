use mcp_aql::prelude::*;

/// Change a task.
#[operation(category = "UPDATE", danger(confirmation_message = "Change '{task_id}' to {input}?"))]
fn update_task(
    /// Which one.
    task_id: String,
    input: Update<mcp_aql_tests::Task>,
) {
    let _ = (task_id, input);
}

fn main() {
    mcp_aql_tests::register(update_task {}); // must not add a second error
}
