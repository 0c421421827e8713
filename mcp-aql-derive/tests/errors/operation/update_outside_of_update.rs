use mcp_aql::prelude::*;
use mcp_aql_tests::{Task, register};

/// Create a task.
#[operation(category = "CREATE")]
fn create_task(
    /// Which one.
    task_id: String,
    input: Update<Task>,
) {
    let _ = (task_id, input);
}

fn main() {
    register(create_task {});
}
