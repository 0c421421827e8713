use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn list_tasks(
    /// The rows to keep.
    filter: String,
    query: CollectionQuery<Task>,
) {
    drop((filter, query));
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
