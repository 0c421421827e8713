use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its title.
    #[param(pattern = "(open")]
    title: String,
) {
    let _ = title;
}

fn main() {
    register(get_task {});
}
