use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Title.
    title: String,
    /// Version.
    #[resource(read_only)]
    #[create_input(default = 1)]
    version: u32,
}

fn main() {}
