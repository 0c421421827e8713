use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its labels.
    #[param(default = ["a", "b"], max_items = 1)]
    labels: Vec<String>,
) {
    let _ = labels;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
