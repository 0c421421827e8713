use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Delete a task.
#[operation(category = "")]
fn delete_task() {}

fn main() {
    register(delete_task {});
}
