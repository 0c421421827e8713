use mcp_aql::operation;

/// Get a task.
#[operation(category = "READ")]
fn get_task(
    /// Which one.
    #[param(deprecated(replacement = "task_di"))]
    id: Option<u32>,
    /// Which one.
    task_id: Option<u32>,
) {
    let _ = (id, task_id);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
