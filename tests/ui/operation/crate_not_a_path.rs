use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", crate = "mcp_aql")]
fn get_task() {}

fn main() {}
