use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Look at tasks.
#[operation(category = "READ")]
fn get_task(
    /// Which.
    fields: String,
    selected: Fields<Task>,
) {
    drop((fields, selected));
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
