use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn list_tasks(query: Option<CollectionQuery<Task>>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
