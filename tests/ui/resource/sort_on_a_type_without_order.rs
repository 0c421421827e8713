use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

/// A status.
#[derive(Serialize, JsonSchema)]
enum Status {
    Open,
    Done,
}

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Status of the work.
    #[resource(sort)]
    status: Status,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
