use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", name = "")]
fn get_task() {}

fn main() {}
