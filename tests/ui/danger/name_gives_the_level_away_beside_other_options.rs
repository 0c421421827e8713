#![deny(warnings)]

use mcp_aql::prelude::*;

/// Empty the cache.
#[operation(category = "DELETE", danger(reasons = ["All of it is gone"]))]
fn purge_cache() {}

fn main() {
    mcp_aql_tests::register(purge_cache {}); // must not add a second error
}
