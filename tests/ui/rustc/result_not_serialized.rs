use mcp_aql::prelude::*;
use mcp_aql_tests::register;

struct Found;

/// Find a task.
#[operation(category = "READ")]
fn get_task() -> Found {
    Found
}

fn main() {
    register(get_task {});
}
