use mcp_aql::prelude::*;
use mcp_aql_tests::{Task, register};

/// Change a task.
#[operation(category = "UPDATE")]
fn update_task(
    /// Which one.
    task_id: String,
    changes: Update<Task>,
) {
    let _ = (task_id, changes);
}

fn main() {
    register(update_task {});
}
