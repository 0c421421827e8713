use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Task {
    /// Number of the task.
    #[resource(id)]
    task_id: u32,
    /// Title.
    title: String,
}

/// A note.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Note {
    /// Number of the note.
    #[resource(id)]
    note_id: u32,
    /// Title.
    title: String,
}

struct Rules;

impl mcp_aql::resource::ResourceRules for Rules {
    type Resource = Note;
}

fn main() {
    let _ = Adapter::builder("tasks").resource(MemoryRecords::<Task>::new().with_rules(Rules));
}
