use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

type Labels = Vec<String>;

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Labels.
    #[resource(group)]
    tags: Labels,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
