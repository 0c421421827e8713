use mcp_aql::prelude::*;

#[derive(Clone)]
struct Store;

/// Count the tasks.
#[operation(category = "READ")]
fn count_tasks(store: &State<Store>, cache: Option<State<u8>>) -> usize {
    let _ = (store, cache);
    0
}

fn main() {
    mcp_aql_tests::register(count_tasks {}); // must not add a second error
}
