use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "CREATE")]
fn create_tasks(query: CollectionQuery<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(create_tasks {}); // must not add a second error
}
