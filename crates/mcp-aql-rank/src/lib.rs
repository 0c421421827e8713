//! Finds the operations that a question needs, and ranks texts that several servers returned.
//!
//! Everything is computed from words: no model, no network, no state between calls but an index that
//! is built once.
//!
//! | to … | see |
//! |---|---|
//! | find operations for a question | [`operations`] |
//! | rank texts and join those that say the same | `texts`, with the feature of this name |
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `texts` | no | the module `texts`, and the Unicode tables that it needs |
#![forbid(unsafe_code)]

pub mod operations;
mod text;
#[cfg(feature = "texts")]
pub mod texts;
