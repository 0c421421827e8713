use mcp_aql::operation;

/// Get a task.
#[operation(category = "READ", examples = [{ "task_id": "t-1" }])]
fn get_task(
    /// Which one.
    task_id: String,
) {
    drop(task_id);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
