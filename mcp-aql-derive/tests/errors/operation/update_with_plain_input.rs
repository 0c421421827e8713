use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Change a task.
#[operation(category = "UPDATE")]
fn update_task(
    /// Which one.
    task_id: String,
    /// The changes.
    input: String,
) {
    let _ = (task_id, input);
}

fn main() {
    register(update_task {});
}
