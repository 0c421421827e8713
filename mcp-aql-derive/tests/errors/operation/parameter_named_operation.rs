use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    operation: String,
) {
    let _ = operation;
}

fn main() {
    register(get_task {});
}
