use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

type Number = u64;

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Number.
    #[resource(search)]
    number: Number,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
