use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema, Resource)]
struct Task<T, const N: usize> {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Its labels.
    about: Option<T>,
}

fn main() {}
