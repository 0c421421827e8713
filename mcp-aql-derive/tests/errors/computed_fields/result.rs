use mcp_aql::{Resource, computed_fields};
use schemars::JsonSchema;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
}

#[computed_fields]
impl Task {
    /// Whole days since it was created.
    #[computed]
    fn age_days(&self) -> Result<i64, String> {
        Ok(7)
    }
}

fn main() {}
