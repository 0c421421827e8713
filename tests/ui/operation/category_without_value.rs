use mcp_aql::prelude::*;

/// Find a task.
#[operation(category =)]
fn get_task() {}

fn main() {}
