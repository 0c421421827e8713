use mcp_aql::operation;

/// Get a task.
#[operation("READ")]
fn get_task() {}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
