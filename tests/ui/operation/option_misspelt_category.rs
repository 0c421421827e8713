use mcp_aql::prelude::*;

/// Find a task.
#[operation(categry = "READ")]
fn get_task() {}

fn main() {}
