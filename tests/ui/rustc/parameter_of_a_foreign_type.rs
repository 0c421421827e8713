use mcp_aql::prelude::*;
use mcp_aql_tests::foreign::OffsetDateTime;

/// List tasks.
#[operation(category = "READ")]
fn list_tasks(
    /// The time from which on.
    since: OffsetDateTime,
) {
    let _ = since;
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
