use mcp_aql::prelude::*;

fn main() {
    let store = mcp_aql::store::SqliteState::open("tasks.db").unwrap();
    let _ = Adapter::builder("tasks").store(store).build();
}
