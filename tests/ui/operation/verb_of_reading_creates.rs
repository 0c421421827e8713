use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "CREATE")]
fn get_task() {}

fn main() {}
