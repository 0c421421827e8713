use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    (first, second): (u32, u32),
) {
    let _ = (first, second);
}

fn main() {
    register(get_task {});
}
