use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "EXECUTE")]
fn run_tasks(
    /// The rows to keep.
    sort: String,
    #[query(text = "maybe", page_size = 0, accept(pages), max_depth = 3)]
    query: Option<CollectionQuery<Task>>,
) {
    drop((sort, query));
}

fn main() {
    mcp_aql_tests::register(run_tasks {}); // must not add a second error
}
