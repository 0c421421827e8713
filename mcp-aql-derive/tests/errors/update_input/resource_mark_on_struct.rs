use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
#[resource(read_only)]
struct Task {
    /// Its labels.
    value: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
