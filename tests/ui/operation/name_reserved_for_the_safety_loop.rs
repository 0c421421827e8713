use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "CREATE", name = "verify_challenge")]
fn get_task() {}

fn main() {}
