use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", name = "")]
fn get_task() {}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
