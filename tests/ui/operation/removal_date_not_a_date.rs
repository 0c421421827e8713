use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", deprecated(removal_date = "next year"))]
fn get_task() {}

fn main() {}
