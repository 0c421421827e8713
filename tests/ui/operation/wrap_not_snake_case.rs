use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", wrap = "theTask")]
fn get_task() {}

fn main() {}
