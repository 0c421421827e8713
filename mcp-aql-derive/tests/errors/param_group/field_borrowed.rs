use mcp_aql::prelude::*;
use mcp_aql_tests::register;

#[derive(ParamGroup)]
struct Paging<'a> {
    /// Cursor to continue from.
    after: &'a str,
}

/// List the tasks.
#[operation(category = "READ")]
fn list_tasks(#[param(group)] page: Paging<'static>) {
    drop(page);
}

fn main() {
    register(list_tasks {});
}
