#![deny(warnings)]

use mcp_aql::prelude::*;

/// Tell who drops in.
#[operation(category = "READ", rationale = "It is a story")]
fn drop_in_readings() {}

fn main() {
    mcp_aql_tests::register(drop_in_readings {}); // must not add a second error
}
