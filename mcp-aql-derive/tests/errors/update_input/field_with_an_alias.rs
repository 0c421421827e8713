use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Short title.
    #[serde(alias = "headline")]
    title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
