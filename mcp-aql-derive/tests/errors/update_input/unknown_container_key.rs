use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
#[update_input(krate = mcp_aql)]
struct Task {
    /// Short title.
    title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
