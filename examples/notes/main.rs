//! A notebook in memory, in a single file: declare a struct and get its operations.
//!
//! ```console
//! $ cargo run -p notes -- call add_note '{"title":"Milk"}'
//! ```

use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use serde::{Deserialize, Serialize};

// A resource is a plain struct. From `operations(…)` below you get `add_note`, `list_notes`, `update_note` and others.
// Their parameters, checks, descriptions and results are derived from the fields and the doc comments.

/// A note.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations(create = "add_note", get, list, search, update, delete))]
struct Note {
    /// Number of the note.
    #[resource(id)] // the store chooses it, and no update can change it
    note_id: u64,
    /// Short title.
    #[resource(search, filter, sort)] // queries may search, filter and sort by it
    #[param(min_length = 1, max_length = 80)] // callers must send 1 to 80 characters
    title: String,
    /// Content of the note, in addition to the title.
    #[resource(search)]
    text: Option<String>, // callers remove an optional value with `null`
    /// Colour of the paper.
    #[resource(filter, group)]
    #[param(default = Colour::White)]
    colour: Colour,
    /// Digits that open the locker with the paper.
    #[serde(skip_serializing)] // never returned
    #[param(sensitive, pattern = "^[0-9]{4,8}$")] // never logged
    pin: Option<String>,
}

/// Colour of a note's paper.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Colour {
    /// Plain paper.
    White,
    /// Noticeable.
    Yellow,
    /// Urgent.
    Red,
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    Adapter::builder("notes")
        .version(env!("CARGO_PKG_VERSION"))
        .resource(MemoryRecords::<Note>::new())
        .build() // reports all mistakes in the adapter at once
        .run() // the command line; without arguments, it serves MCP on stdio
        .await
}
