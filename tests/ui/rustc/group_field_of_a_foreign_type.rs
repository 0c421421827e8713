use mcp_aql::prelude::*;
use mcp_aql_tests::foreign::OffsetDateTime;

#[derive(ParamGroup)]
struct Period {
    /// The time from which on.
    since: Option<OffsetDateTime>,
}

/// List tasks.
#[operation(category = "READ")]
fn list_tasks(#[param(group)] period: Period) {
    let _ = period.since;
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
