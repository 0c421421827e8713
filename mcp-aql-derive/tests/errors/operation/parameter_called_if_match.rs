use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE")]
fn delete_task(
    expected: IfMatch,
    /// Its expected version.
    if_match: String,
) {
    let _ = (expected, if_match);
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
