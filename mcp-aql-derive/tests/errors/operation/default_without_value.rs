use mcp_aql::operation;

/// Create a task.
#[operation(category = "CREATE")]
fn create_task(
    /// Its labels.
    #[param(default)]
    value: u32,
) {
    let _ = value;
}

fn main() {
    mcp_aql_tests::register(create_task {}); // must not add a second error
}
