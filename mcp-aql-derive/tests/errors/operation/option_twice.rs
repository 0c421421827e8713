use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ", name = "a", name = "b")]
fn get_task() {}

fn main() {
    register(get_task {});
}
