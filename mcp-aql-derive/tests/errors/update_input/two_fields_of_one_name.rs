use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;

#[derive(serde::Serialize, JsonSchema, UpdateInput)]
struct Task {
    /// Short title.
    title: String,
    /// Long title.
    #[resource(read_only)]
    #[serde(rename(serialize = "title", deserialize = "title"))]
    long_title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
