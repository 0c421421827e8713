use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Change a task.
#[operation(category = "UPDATE")]
fn update_task(
    /// Which one.
    title: String,
    input: Update<Task>,
) {
    drop((title, input));
}

fn main() {
    mcp_aql_tests::register(update_task {}); // must not add a second error
}
