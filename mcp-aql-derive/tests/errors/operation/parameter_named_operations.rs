use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    operations: String,
) {
    let _ = operations;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
