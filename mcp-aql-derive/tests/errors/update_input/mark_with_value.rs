use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// When it was made.
    #[resource(read_only = true)]
    created_at: String,
    /// Short title.
    title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
