use mcp_aql::prelude::*;

/// Create a task.
#[operation(category = "CREATE", danger(level = "safe"))]
fn create_task() {}

fn main() {
    mcp_aql_tests::register(create_task {}); // must not add a second error
}
