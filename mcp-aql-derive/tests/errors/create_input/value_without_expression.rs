use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
#[create_input(value = 1)]
struct Task {
    /// Title.
    title: String,
    /// Version.
    #[resource(read_only)]
    #[create_input(value)]
    version: u32,
}

fn main() {}
