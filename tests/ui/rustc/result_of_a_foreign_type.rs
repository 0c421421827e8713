use mcp_aql::prelude::*;
use mcp_aql_tests::foreign::OffsetDateTime;

/// Read the clock.
#[operation(category = "READ")]
fn get_time() -> OffsetDateTime {
    OffsetDateTime
}

fn main() {
    mcp_aql_tests::register(get_time {}); // must not add a second error
}
