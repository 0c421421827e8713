use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// List the tasks.
#[operation(category = "READ")]
fn list_tasks(query: &CollectionQuery<Task>) {
    let _ = query;
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
