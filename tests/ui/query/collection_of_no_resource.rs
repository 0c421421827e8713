use mcp_aql::prelude::*;

struct Task;

/// List tasks.
#[operation(category = "READ")]
fn list_tasks(query: CollectionQuery<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
