use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    #[param(min_length = 1)]
    number: u32,
) {
    let _ = number;
}

fn main() {
    register(get_task {});
}
