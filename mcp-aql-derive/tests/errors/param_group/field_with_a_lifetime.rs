use mcp_aql::prelude::*;
use std::borrow::Cow;

#[derive(ParamGroup)]
struct Paging<'a> {
    /// Cursor to continue from.
    after: Cow<'a, str>,
}

/// List the tasks.
#[operation(category = "READ")]
fn list_tasks(#[param(group)] page: Paging<'static>) {
    drop(page);
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
