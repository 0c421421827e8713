use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Short title.
    #[serde(alias = "headline")]
    title: String,
}

fn main() {}
