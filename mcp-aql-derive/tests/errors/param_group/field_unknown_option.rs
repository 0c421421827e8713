use mcp_aql::prelude::*;
use mcp_aql_tests::register;

#[derive(ParamGroup)]
struct Paging {
    /// How many.
    #[param(maxium = 10)]
    first: u32,
}

/// List the tasks.
#[operation(category = "READ")]
fn list_tasks(#[param(group)] page: Paging) {
    drop(page);
}

fn main() {
    register(list_tasks {});
}
