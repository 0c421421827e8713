use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    title: String,
    /// 1 is most urgent.
    #[param(min_length = 1, minimum = 9, maximum = 5, pattern = "(")]
    priority: u8,
    /// When it is due.
    #[serde(rename = "dueDate")]
    due: Option<String>,
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
