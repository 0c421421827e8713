use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its title.
    title: impl Into<String>,
) {
    let _ = title;
}

fn main() {
    register(get_task {});
}
