#![deny(warnings)]

use mcp_aql::prelude::*;

/// List the visitors.
#[operation(category = "READ", rationale = "It is a story")]
fn drop_in_readings() {}

fn main() {
    mcp_aql_tests::register(drop_in_readings {}); // must not add a second error
}
