use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
#[serde(rename_all = "camelCase")]
struct Task {
    /// When it is due.
    due_date: String,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
