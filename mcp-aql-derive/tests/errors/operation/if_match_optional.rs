use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE")]
fn delete_task(version: Option<IfMatch<u64>>) {
    let _ = version;
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
