use mcp_aql::{Resource, computed_fields};
use schemars::JsonSchema;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    title: String,
}

#[computed_fields]
impl Default for Task {
    fn default() -> Self {
        Self { task_id: String::new(), title: String::new() }
    }
}

fn main() {
    let _ = Task::default();
}
