use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// 1 is most urgent.
    #[param(maximum = 300)]
    priority: u8,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
