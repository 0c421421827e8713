//! A note book in memory, in one file: a resource with ready operations.
//!
//! ```console
//! $ cargo run -p notes -- call add_note '{"title":"Milk"}'
//! ```

use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use serde::{Deserialize, Serialize};

// A resource is a plain struct. `operations` adds `list_notes`, `update_note` and the others; their parameters, checks,
// descriptions and results follow from the fields and from their doc comments.

/// A note.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations(create = "add_note", get, list, search, update, delete))]
struct Note {
    /// Number of the note.
    #[resource(id)] // the store chooses it, and no update can change it
    note_id: u64,
    /// Short title.
    #[resource(search, filter, sort)] // what a query may do with the field
    #[param(min_length = 1, max_length = 80)] // what callers may send
    title: String,
    /// The text, if there is more than a title.
    #[resource(search)]
    text: Option<String>, // an `Option` can be removed again, with `null`
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
        .build() // every problem of the adapter, all at once
        .run() // the command line; without arguments: MCP on standard input and output
        .await
}
