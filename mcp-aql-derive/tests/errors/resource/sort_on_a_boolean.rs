use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// A field.
    #[resource(sort)]
    done: bool,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
