//! Books, members and loans.

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A book in the catalogue, of which there may be several copies.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
pub(crate) struct Book {
    /// Number in the catalogue.
    #[resource(id)]
    pub(crate) book_id: u64,
    /// Title as printed on the cover.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// Author.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) author: String,
    /// Subject of the book.
    pub(crate) subject: Subject,
    /// Place of the copies.
    pub(crate) place: Place,
    /// Number of copies that the library owns.
    #[param(default = 1, minimum = 1, maximum = 100)]
    pub(crate) copies: u32,
    /// Time of the last stocktaking that included the book.
    #[resource(read_only)]
    #[create_input(value = None)]
    pub(crate) checked_at: Option<DateTime<Utc>>,
    /// Version, which grows with every change; send it as `if_match`.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

/// The place of a book's copies. An update changes single fields of it and keeps the others.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Place {
    /// Floor; 0 is the ground floor.
    #[param(minimum = 0, maximum = 3)]
    pub(crate) floor: u8,
    /// Shelf on that floor, by its letter and number.
    #[param(pattern = "^[A-Z][0-9]{1,2}$")]
    pub(crate) shelf: String,
    /// Hint for finding the copies.
    #[param(max_length = 200)]
    pub(crate) hint: Option<String>,
}

/// The subject of a book.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    /// Stories.
    Fiction,
    /// Past events.
    History,
    /// Nature and technology.
    Science,
}

/// Someone who may borrow books.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Member {
    /// Number on the card.
    pub(crate) member_id: u64,
    /// Name on the card.
    pub(crate) name: String,
}

/// A copy of a book that a member has borrowed.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
pub(crate) struct Loan {
    /// Number of the loan.
    #[resource(id)]
    pub(crate) loan_id: u64,
    /// The borrowed book.
    pub(crate) book_id: u64,
    /// The borrower.
    pub(crate) member_id: u64,
    /// Last day to return the book.
    pub(crate) due_date: NaiveDate,
    /// Day of the return; absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) returned_at: Option<DateTime<Utc>>,
}

/// The number of books on a subject.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SubjectCount {
    /// The subject.
    pub(crate) subject: Subject,
    /// Number of books in the catalogue.
    pub(crate) books: usize,
}

/// The result of a stocktaking.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StockCheck {
    /// Number of books that were checked.
    pub(crate) books: usize,
    /// Number of copies on the shelves.
    pub(crate) on_shelf: u32,
    /// Number of copies that are lent.
    pub(crate) lent: u32,
}
