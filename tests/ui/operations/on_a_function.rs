use mcp_aql::prelude::*;

/// Find a task.
#[operations]
fn get_task() {}

fn main() {
    get_task();
}
