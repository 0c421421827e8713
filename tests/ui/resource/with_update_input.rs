use mcp_aql::{Resource, Update, UpdateInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(presetss(minimal = [title]))]
struct Task {
    /// Identifier.
    #[resource(idd)]
    task_id: String,
    #[resource(filter)]
    title: String,
    /// 1 is most urgent.
    #[serde(rename = "title")]
    #[param(minimum = 1)]
    priority: u8,
    /// When it was made.
    #[resource(read_only = true, sort)]
    created_at: String,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
    let _ = Update::<Task>::from_json;
}
