use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    #[param(default = 0, minimum = 1)]
    number: u32,
) {
    let _ = number;
}

fn main() {
    register(get_task {});
}
