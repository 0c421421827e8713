use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Share.
    #[param(minimum = 1, maximum = -0.5)]
    share: f64,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
