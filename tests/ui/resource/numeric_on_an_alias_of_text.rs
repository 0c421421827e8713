use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

type Title = String;

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    #[resource(numeric)]
    title: Title,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
