use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(get))]
struct Task {
    /// Number of the task.
    #[resource(id)]
    task_id: u32,
    /// Version.
    #[resource(read_only)]
    #[serde(rename = "_version")]
    version: String,
    /// Title.
    title: String,
}

fn main() {}
