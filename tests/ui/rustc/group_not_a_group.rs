use mcp_aql::prelude::*;

struct Paging;

/// List the tasks.
#[operation(category = "READ")]
fn list_tasks(#[param(group)] page: Paging) {
    drop(page);
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
