use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Title.
    #[create_input(value = String::new())]
    title: String,
}

fn main() {}
