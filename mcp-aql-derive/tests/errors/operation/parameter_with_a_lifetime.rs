use mcp_aql::prelude::*;
use serde::Deserialize;

/// A filter.
#[derive(Deserialize, JsonSchema)]
struct Filter<'a> {
    /// Name.
    name: &'a str,
}

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Which one.
    filter: Option<Vec<Filter<'_>>>,
) {
    drop(filter);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
