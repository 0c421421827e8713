use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema, Resource)]
#[resource(relationships(partOf = "Is a part of another task."))]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
