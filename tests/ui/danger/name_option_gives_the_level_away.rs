#![deny(warnings)]

use mcp_aql::prelude::*;

/// Change a task.
#[operation(category = "UPDATE", name = "reset_task")]
fn change(
    input: Update<mcp_aql_tests::Task>,
) {
    drop(input);
}

fn main() {
    mcp_aql_tests::register(change {}); // must not add a second error
}
