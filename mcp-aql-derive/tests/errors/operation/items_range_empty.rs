use mcp_aql::operation;

/// Create a task.
#[operation(category = "CREATE")]
fn create_task(
    /// Its labels.
    #[param(min_items = 3, max_items = 2)]
    value: Vec<String>,
) {
    let _ = value;
}

fn main() {
    mcp_aql_tests::register(create_task {}); // must not add a second error
}
