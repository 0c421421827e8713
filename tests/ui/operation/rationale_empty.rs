use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", rationale = " ")]
fn get_task() {}

fn main() {}
