use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Its labels.
    #[param(deprecated(removal = "2031-05-06"))]
    value: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
