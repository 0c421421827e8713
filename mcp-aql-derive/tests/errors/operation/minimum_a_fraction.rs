use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    #[param(minimum = 0.5)]
    number: u32,
) {
    let _ = number;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
