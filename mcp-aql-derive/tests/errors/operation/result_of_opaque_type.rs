use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task() -> impl std::fmt::Debug {
    1
}

fn main() {
    register(get_task {});
}
