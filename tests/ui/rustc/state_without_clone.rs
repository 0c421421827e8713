use mcp_aql::prelude::*;

struct Db;

/// Find a task.
#[operation(category = "READ")]
fn get_task(State(db): State<Db>) {
    drop(db);
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
