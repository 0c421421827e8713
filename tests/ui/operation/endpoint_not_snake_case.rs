use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", endpoint = "Manage")]
fn get_task() {}

fn main() {}
