use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", wrap = true)]
fn get_task() {}

fn main() {}
