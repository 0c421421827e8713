use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Change a task.
#[operation(category = "UPDATE")]
fn update_task(
    /// Which one.
    task_id: String,
) {
    let _ = task_id;
}

fn main() {
    register(update_task {});
}
