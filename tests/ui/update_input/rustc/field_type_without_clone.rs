use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Where the work stands.
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
