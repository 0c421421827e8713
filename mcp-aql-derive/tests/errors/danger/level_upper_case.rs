use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE", danger(level = "DESTRUCTIVE"))]
fn delete_task() {}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
