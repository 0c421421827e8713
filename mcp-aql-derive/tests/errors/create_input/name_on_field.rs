use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Title.
    #[param(name = "heading")]
    title: String,
    text: String,
}

fn main() {}
