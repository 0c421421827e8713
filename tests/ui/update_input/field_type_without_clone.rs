use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Status of the work.
    status: Status,
}

#[derive(Deserialize, JsonSchema)]
enum Status {
    Todo,
    Done,
}

fn main() {
    let _ = Update::<Task>::from_json;
}
