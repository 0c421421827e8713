use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
enum Task {
    Open,
}

fn main() {}
