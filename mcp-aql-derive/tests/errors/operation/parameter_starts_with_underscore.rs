use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    _number: u32,
) {
    let _ = _number;
}

fn main() {
    register(get_task {});
}
