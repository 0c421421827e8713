//! Finds the operations that a question needs, by their words.
//!
//! Build an [`OperationIndex`] once from names, descriptions and parameters, and search it often.
//! Words match in all their forms, and everyday synonyms match with a lower weight. A long question
//! may need several operations, so the hits cover its clauses.
//!
//! ```
//! use mcp_aql_rank::operations::{OperationDocument, OperationIndex};
//!
//! let index = OperationIndex::new([
//!     OperationDocument::new("create_task").description("Adds a task to a list."),
//!     OperationDocument::new("delete_task").description("Deletes a task for good."),
//!     OperationDocument::new("convertToPdf").description("Converts a document to PDF."),
//! ]);
//! let hits = index.search("Please remove the second of my tasks", 2);
//! assert_eq!(hits[0].operation, 1);
//! let hits = index.search("turn /home/me/letter.docx into a PDF", 1);
//! assert_eq!(hits[0].operation, 2);
//! assert!(index.search("", 5).is_empty());
//! ```
//!
//! # How operations are scored
//!
//! - Each field of an operation has a weight, and frequencies are saturated over all fields
//!   (BM25F). Words that occur in few operations, and in few groups of operations, count more.
//! - An operation that contains many words of the question is better than one with few rare ones.
//! - A name whose words the question contains completely counts more.
//! - A question that begins with a word such as `which` seldom needs an operation that changes
//!   something.
//! - The best operation of a group lifts the others.
//! - Operations similar to each other lift each other.
//! - Paths, addresses and numbers are arguments. They count as `file` or `url` and little else.
//! - If no operation contains a word, it stands for the words that it may be a misspelling of.
//! - A clause is also scored alone. Each hit reduces the weight of the clause that it answers,
//!   and the scores of operations of other groups with the same name.

mod abbreviations;
mod clauses;
mod document;
mod fields;
mod index;
mod literals;
mod names;
mod neighbors;
mod nouns;
mod question;
mod search;
mod synonyms;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use document::OperationDocument;
pub use index::OperationIndex;
pub use search::SearchHit;
