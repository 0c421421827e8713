use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn search_tasks(#[query(text = "none")] query: CollectionQuery<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(search_tasks {}); // must not add a second error
}
