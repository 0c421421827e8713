use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Which one.
    #[param(name = "params")]
    values: String,
) {
    drop(values);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
