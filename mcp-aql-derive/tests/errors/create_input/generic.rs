use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, CreateInput)]
struct Task<T> {
    /// Title.
    title: T,
}

fn main() {}
