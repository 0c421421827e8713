use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Short title.
    title: String,
    /// Counts the changes.
    _version: u64,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
