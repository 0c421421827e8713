use mcp_aql::prelude::*;
use mcp_aql_tests::register;

// Not a doc comment.
#[operation(category = "READ")]
fn get_task() {}

fn main() {
    register(get_task {});
}
