use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    #[resource(read_only)]
    #[param(format = "date-time")]
    created_at: String,
    /// Short title.
    title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
