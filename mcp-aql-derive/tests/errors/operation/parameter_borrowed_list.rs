use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its labels.
    labels: &[String],
) {
    let _ = labels;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
