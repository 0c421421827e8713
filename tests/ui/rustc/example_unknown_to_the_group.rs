use mcp_aql::prelude::*;

#[derive(ParamGroup)]
struct Paging {
    /// How many.
    first: Option<u32>,
}

/// List the tasks.
#[operation(category = "READ", example = { "frist": 10 })]
fn list_tasks(#[param(group)] page: Paging) {
    let _ = page.first;
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
