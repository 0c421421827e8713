use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    #[resource(id, read_only)]
    task_id: String,
    /// Short title.
    title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
