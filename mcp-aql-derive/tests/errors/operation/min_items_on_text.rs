use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its title.
    #[param(min_items = 1)]
    title: Option<String>,
) {
    let _ = title;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
