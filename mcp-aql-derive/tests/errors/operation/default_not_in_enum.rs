use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its status.
    #[param(default = "later", enum = ["todo", "done"])]
    status: String,
) {
    let _ = status;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
