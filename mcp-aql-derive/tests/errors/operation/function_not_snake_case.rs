use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[allow(non_snake_case)]
#[operation(category = "READ")]
fn getTask() {}

fn main() {
    register(getTask {});
}
