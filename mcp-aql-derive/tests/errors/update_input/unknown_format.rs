use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// When it is due.
    #[param(format = "day")]
    due: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
