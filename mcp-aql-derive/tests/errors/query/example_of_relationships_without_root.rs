use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ", example = { "direction": "both" })]
fn query_relationships(query: RelationshipQuery<Task>) {
    drop(query);
}

fn main() {
    mcp_aql_tests::register(query_relationships {}); // must not add a second error
}
