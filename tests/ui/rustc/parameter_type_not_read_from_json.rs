use mcp_aql::prelude::*;
use mcp_aql_tests::register;

struct Store;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its location.
    store: Store,
) {
    let _ = store;
}

fn main() {
    register(get_task {});
}
