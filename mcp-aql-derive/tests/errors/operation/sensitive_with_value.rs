use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its key.
    #[param(sensitive = true)]
    key: String,
) {
    let _ = key;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
