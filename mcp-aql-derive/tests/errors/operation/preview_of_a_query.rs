use mcp_aql::prelude::*;
use mcp_aql::{CollectionQuery, Resource};

/// A note.
#[derive(Resource, serde::Serialize, schemars::JsonSchema)]
struct Note {
    /// The identifier.
    #[resource(id)]
    id: u32,
}

/// List notes.
#[operation(category = "READ", preview = preview_notes)]
fn list_notes(query: CollectionQuery<Note>) -> usize {
    let _ = query;
    0
}

fn main() {}
