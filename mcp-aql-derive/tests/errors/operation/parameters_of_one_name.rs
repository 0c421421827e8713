use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    number: u32,
    /// Its other number.
    #[param(name = "number")]
    other: u32,
) {
    let _ = (number, other);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
