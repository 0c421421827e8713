use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Short title.
    #[param(deprecated(removal_date = "2031-02-30"))]
    title: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
