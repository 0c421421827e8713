use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Its labels.
    #[param(min_items = 3, max_items = 2)]
    value: Vec<String>,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
