use mcp_aql::operation;

/// Get a task.
#[operation(category = "READ", description = "Get a task", readonly = true)]
fn get_task(
    /// Which one.
    #[param(description = "Which one", required, type = "string", regex = "^t-", secret)]
    task_id: String,
) {
    drop(task_id);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
