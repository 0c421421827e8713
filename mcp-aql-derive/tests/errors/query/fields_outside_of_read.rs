use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "CREATE")]
fn create_task(query: Fields<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(create_task {}); // must not add a second error
}
