use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// Find a task.
#[operation(category = "UPDATE", rationale = "No other verb fits")]
fn get_task(
    /// Its number.
    #[param(name = "input")]
    number: u32,
    input: Update<Task>,
) {
    let _ = (number, input);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
