use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    #[resource(id)]
    task_id: String,
    #[resource(read_only)]
    created_at: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
