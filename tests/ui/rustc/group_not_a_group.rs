use mcp_aql::prelude::*;

struct Paging;

/// List the tasks.
#[operation(category = "READ")]
fn list_tasks(#[param(group)] page: Paging) {
    drop(page);
}

fn main() {}
