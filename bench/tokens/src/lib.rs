//! Counts the tokens of whole conversations, with mcp-aql and with plain tools: `cargo bench -p mcp-aql-tokens`.
//!
//! This is a separate package, so that the measured programs do not depend on the tokenizer and the example.

#![allow(clippy::indexing_slicing, reason = "a member that JSON lacks is null")]

mod back_office;
mod conversation;
mod desk;
mod plain;
mod scripts;
mod transcripts;
mod whole_tasks;

// Include the example `tasks` as a module of this crate.
#[path = "../../../examples/tasks/error.rs"]
mod error;
#[path = "../../../examples/tasks/export.rs"]
mod export;
#[path = "../../../examples/tasks/model.rs"]
mod model;
#[path = "../../../examples/tasks/operations.rs"]
mod operations;
#[path = "../../../examples/tasks/store/mod.rs"]
#[expect(dead_code, reason = "the cursors have a fixed key instead of the stored one")]
mod store;

pub use transcripts::transcripts;
pub use whole_tasks::{WholeTasks, whole_tasks};

use mcp_aql_bench::Result;

/// Returns a function that counts tokens with the encoding `o200k_base`.
///
/// # Errors
///
/// Returns an error if the vocabulary cannot be read.
pub fn counter() -> Result<impl Fn(&str) -> usize> {
    let encoding = tiktoken_rs::o200k_base()?;
    Ok(move |text: &str| encoding.encode_ordinary(text).len())
}
