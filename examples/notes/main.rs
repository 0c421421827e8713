//! A note book in memory, in one file: the smallest adapter that shows most features.
//!
//! ```console
//! $ cargo run --example notes -- call add_note '{"title":"Milk"}'
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

// A resource is a plain struct. `Serialize` and `JsonSchema` allow operations to return and describe it, `Deserialize`
// and `UpdateInput` allow callers to change its fields.

/// A note.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Note {
    /// Number of the note.
    #[resource(id)] // names the note, so that no update can change it
    note_id: u64,
    /// Short title.
    #[param(min_length = 1, max_length = 80)]
    title: String,
    /// The text, if there is more than a title.
    text: Option<String>, // an `Option` can be removed again, with `null`
    /// Colour of the paper.
    colour: Colour,
    #[serde(skip)] // what is skipped does not exist for callers
    pin: Option<String>,
}

/// Colour of a note's paper.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    /// Plain paper.
    #[default]
    White,
    /// Noticeable.
    Yellow,
    /// Urgent.
    Red,
}

// Shared state is any type that implements `Clone`. Functions receive it as `State<NoteBook>`; callers never see
// it.

/// All notes.
#[derive(Debug, Clone, Default)]
struct NoteBook(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    notes: BTreeMap<u64, Note>,
    last_id: u64,
}

impl NoteBook {
    fn open(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    // The protocol's errors have constructors. `examples/tasks` defines its own error type.
    fn find(&mut self, note_id: u64) -> Result<&mut Note, OperationError> {
        self.notes.get_mut(&note_id).ok_or_else(|| OperationError::not_found("note", note_id))
    }

    fn unlock(&mut self, note_id: u64, pin: Option<&str>) -> Result<&mut Note, OperationError> {
        let note = self.find(note_id)?;
        if note.pin.is_some() && note.pin.as_deref() != pin {
            return Err(OperationError::permission_denied("the note has another PIN"));
        }
        Ok(note)
    }
}

// An operation is a function. Its doc comment and those of its arguments are the descriptions that callers read, its
// types define the accepted values, and `#[param(…)]` restricts them.

/// Add a note.
#[operation(category = "CREATE", example = { "title": "Milk", "colour": "yellow" })]
fn add_note(
    State(book): State<NoteBook>,
    context: Context,
    /// Short title.
    #[param(min_length = 1, max_length = 80)]
    title: String,
    /// The text, if there is more than a title.
    text: Option<String>,
    /// Colour of the paper.
    #[param(default = Colour::default())]
    // a literal, or an expression that is evaluated once, at start-up
    colour: Colour,
    /// Digits that later changes of the note will require.
    #[param(sensitive, pattern = "^[0-9]{4,8}$")] // a secret: never logged and never returned
    pin: Option<String>,
) -> Note {
    let mut book = book.open();
    if let Some(twin) = book.notes.values().find(|note| note.title == title) {
        // A warning is part of the reply.
        context.warn(
            Warning::new("VALIDATION_TWIN_TITLE_WARNING", "Another note has this title already")
                .severity(Severity::Low)
                .detail("note_id", twin.note_id),
        );
    }
    book.last_id += 1;
    let note = Note { note_id: book.last_id, title, text, colour, pin };
    book.notes.insert(note.note_id, note.clone());
    note
}

/// List all notes.
#[operation(category = "READ")]
fn list_notes(State(book): State<NoteBook>) -> Vec<Note> {
    book.open().notes.values().cloned().collect()
}

/// Get one note.
#[operation(category = "READ", example = { "note_id": 1 })]
fn get_note(
    State(book): State<NoteBook>,
    /// Number of the note.
    note_id: u64,
) -> Result<Note, OperationError> {
    book.open().find(note_id).cloned()
}

// Callers of a deprecated operation receive a warning with its replacement and its removal date.

/// Show one note.
#[operation(
    category = "READ",
    deprecated(replacement = "get_note", removal_date = "2031-05-06"),
    example = { "note_id": 1 },
)]
fn show_note(
    book: State<NoteBook>,
    /// Number of the note.
    note_id: u64,
) -> Result<Note, OperationError> {
    get_note(book, note_id) // an operation is still a function
}

/// Change a note.
#[operation(category = "UPDATE", example = { "note_id": 1, "input": { "colour": "red" } })]
fn update_note(
    State(book): State<NoteBook>,
    /// Number of the note.
    note_id: u64,
    /// The note's PIN, if it has one.
    #[param(sensitive)]
    pin: Option<String>,
    input: Update<Note>, // the fields to change, checked on the way in
) -> Result<Note, OperationError> {
    let mut book = book.open();
    let note = book.unlock(note_id, pin.as_deref())?;
    input.merge_into(note); // field by field, all or nothing
    Ok(note.clone())
}

/// Delete a note, and return it.
#[operation(category = "DELETE", example = { "note_id": 1 })]
fn delete_note(
    State(book): State<NoteBook>,
    /// Number of the note.
    note_id: u64,
    /// The note's PIN, if it has one.
    #[param(sensitive)]
    pin: Option<String>,
) -> Result<Note, OperationError> {
    let mut book = book.open();
    let note = book.unlock(note_id, pin.as_deref())?.clone();
    book.notes.remove(&note_id);
    Ok(note)
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    Adapter::builder("notes")
        .version(env!("CARGO_PKG_VERSION"))
        .state(NoteBook::default())
        .operation(add_note {})
        .operation(list_notes {})
        .operation(get_note {})
        .operation(show_note {})
        .operation(update_note {})
        .operation(delete_note {})
        .build()? // every problem of the adapter, all at once
        .run() // the command line; without arguments: MCP on standard input and output
        .await
}
