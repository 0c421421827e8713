use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = FIND)]
fn get_task() {}

fn main() {
    register(get_task {});
}
