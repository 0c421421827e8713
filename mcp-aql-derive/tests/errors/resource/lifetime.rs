use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema, Resource)]
struct Task<'a> {
    /// Identifier.
    #[resource(id)]
    task_id: &'a str,
}

fn main() {}
