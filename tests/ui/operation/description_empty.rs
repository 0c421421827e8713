use mcp_aql::prelude::*;

///
#[operation(category = "READ")]
fn get_task() {}

fn main() {}
