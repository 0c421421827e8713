use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn get_task<T>(
    /// Its number.
    number: T,
) {
    drop(number);
}

fn main() {
    register(get_task {});
}
