use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn get_task(#[query(accept(page))] query: Fields<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
