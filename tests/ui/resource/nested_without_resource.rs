use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

/// A person.
#[derive(Serialize, JsonSchema)]
struct Person {
    /// Name.
    name: String,
}

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// A field.
    #[resource(nested)]
    owner: Person,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
