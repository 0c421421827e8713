use mcp_aql::prelude::*;

///
#[operation(category = "READ")]
fn get_task() {}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
