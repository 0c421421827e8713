use mcp_aql::prelude::*;

#[derive(ParamGroup)]
struct Paging {
    /// How many.
    first: u32,
}

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    #[param(group, default = 1)]
    page: Paging,
) {
    let _ = page;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
