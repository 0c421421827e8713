//! Finds the operations that a question needs, and ranks results that several servers returned.
//!
//! Everything is computed from words, without a model and without a network. Nothing is stored
//! between calls except an index that you build once.
//!
//! | to … | see |
//! |---|---|
//! | find operations for a question | [`operations`] |
//! | rank results and merge duplicates | `texts`, with the feature of this name |
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
