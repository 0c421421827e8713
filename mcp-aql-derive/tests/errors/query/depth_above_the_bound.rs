use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn query_relationships(#[query(max_depth = 101)] query: RelationshipQuery<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(query_relationships {}); // must not add a second error
}
