use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema, Resource)]
#[serde(rename_all = "camelCase")]
struct Task {
    /// Identifier.
    #[resource(id)]
    id: String,
    /// A field.
    #[resource(sort)]
    due_date: String,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
