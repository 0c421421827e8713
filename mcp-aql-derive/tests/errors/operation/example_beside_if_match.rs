use mcp_aql::prelude::*;

/// Delete a task.
#[operation(category = "DELETE", example = { "task": "t-1", "if_match": "v1" })]
fn delete_task(
    /// Which one.
    task_id: String,
    if_match: IfMatch,
) {
    let _ = (task_id, if_match);
}

fn main() {
    mcp_aql_tests::register(delete_task {}); // must not add a second error
}
