use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task {
    /// Title.
    title: &'static str,
}

fn main() {}
