use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// 1 is most urgent.
    #[param(minimum = 0.5)]
    priority: u8,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
