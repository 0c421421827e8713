//! What a library keeps.

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A book in the catalogue, of which there may be several copies.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
pub(crate) struct Book {
    /// Number in the catalogue.
    #[resource(id)]
    pub(crate) book_id: u64,
    /// Title as printed on the cover.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// Who wrote it.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) author: String,
    /// What it is about.
    pub(crate) subject: Subject,
    /// Where its copies stand.
    pub(crate) place: Place,
    /// How many copies the library owns.
    #[param(minimum = 1, maximum = 100)]
    pub(crate) copies: u32,
    /// When a stocktaking last came by.
    #[resource(read_only)]
    pub(crate) checked_at: Option<DateTime<Utc>>,
    /// Grows with every change; give it back as `if_match`.
    #[resource(read_only)]
    #[serde(rename = "_version")]
    pub(crate) version: u64,
}

/// Where the copies of a book stand. An update changes one of its fields and leaves the others.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Place {
    /// Floor; 0 is the ground floor.
    #[param(minimum = 0, maximum = 3)]
    pub(crate) floor: u8,
    /// Shelf on that floor, by its letter and number.
    #[param(pattern = "^[A-Z][0-9]{1,2}$")]
    pub(crate) shelf: String,
    /// What helps to find them.
    #[param(max_length = 200)]
    pub(crate) hint: Option<String>,
}

/// What a book is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    /// Stories.
    Fiction,
    /// What happened.
    History,
    /// How things work.
    Science,
}

/// What a new book starts with: the parameters of `create_book`.
#[derive(Debug, ParamGroup)]
pub(crate) struct NewBook {
    /// Title as printed on the cover.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) title: String,
    /// Who wrote it.
    #[param(min_length = 1, max_length = 200)]
    pub(crate) author: String,
    /// What it is about.
    pub(crate) subject: Subject,
    /// Where its copies stand.
    pub(crate) place: Place,
    /// How many copies the library owns.
    #[param(default = 1, minimum = 1, maximum = 100)]
    pub(crate) copies: u32,
}

/// Someone who may borrow books.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Member {
    /// Number on the card.
    pub(crate) member_id: u64,
    /// Name on the card.
    pub(crate) name: String,
}

/// A copy of a book in the hands of a member.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
pub(crate) struct Loan {
    /// Number of the loan.
    #[resource(id)]
    pub(crate) loan_id: u64,
    /// The book.
    pub(crate) book_id: u64,
    /// Who has it.
    pub(crate) member_id: u64,
    /// Last day to bring it back.
    pub(crate) due_date: NaiveDate,
    /// When it came back; absent while it is out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) returned_at: Option<DateTime<Utc>>,
}

/// How many books there are on a subject.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SubjectCount {
    /// The subject.
    pub(crate) subject: Subject,
    /// Books in the catalogue.
    pub(crate) books: usize,
}

/// What a stocktaking saw.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StockCheck {
    /// Books that were looked for.
    pub(crate) books: usize,
    /// Copies on the shelves.
    pub(crate) on_shelf: u32,
    /// Copies that are lent.
    pub(crate) lent: u32,
}
