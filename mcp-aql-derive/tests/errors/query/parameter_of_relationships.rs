use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn query_relationships(
    /// Where to start.
    root: String,
    query: RelationshipQuery<Task>,
) {
    drop((root, query));
}

fn main() {
    mcp_aql_tests::register(query_relationships {}); // must not add a second error
}
