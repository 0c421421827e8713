use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ", example = { "first": 3 })]
fn search_tasks(query: CollectionQuery<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(search_tasks {}); // must not add a second error
}
