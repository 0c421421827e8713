use mcp_aql::prelude::*;

/// List the tasks.
#[operation(category = "READ", name = names, description = "Lists.")]
fn list_tasks() {}

fn main() {}
