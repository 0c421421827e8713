use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ", example = { "number": 1 "title": "Milk" })]
fn get_task(
    /// Its number.
    number: u32,
    /// Short title.
    title: String,
) {
    drop((number, title));
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
