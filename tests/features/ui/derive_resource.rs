use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, Resource)]
#[resource(presets(minimal = [task_id]), default_sort(title))]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    #[resource(search, sort)]
    title: String,
}

fn main() {}
