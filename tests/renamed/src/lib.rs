//! Tests that the macros work if a crate depends on the runtime under another name. Here it is `aql`, and no attribute
//! mentions the new name.

#![deny(warnings)]

use aql::prelude::*;

/// Cursor to continue from.
#[derive(Debug, ParamGroup)]
pub struct Paging {
    /// How many.
    #[param(default = u32::from(20_u8), minimum = 1)]
    pub first: u32,
}

/// The reason why a count fails.
#[derive(Debug, OperationError)]
pub enum CountError {
    /// Counting is not permitted.
    #[operation_error(code = "PERMISSION_DENIED", message = "Only the owner may count")]
    Refused,
}

/// Count.
///
/// # Errors
/// Never.
#[operation(category = "READ", example = { "first": 3 })]
pub async fn count(#[param(group)] page: Paging) -> Result<u32, CountError> {
    Ok(page.first)
}

/// A receiver without fields.
#[derive(Debug)]
pub struct Counter;

#[operations]
impl Counter {
    /// Return the version.
    #[operation(category = "READ")]
    pub fn version(&self) -> u8 {
        1
    }
}

/// Export everything.
#[operation(
    category = "EXECUTE",
    danger(level = "reversible", reasons = ["It may take long"]),
    lifecycle(cancel, progress)
)]
pub async fn start_export(execution: ExecutionContext) -> u32 {
    execution.attempt()
}

/// A book.
#[derive(Debug, serde::Serialize, JsonSchema, Resource)]
pub struct Book {
    /// Its number.
    #[resource(id, sort)]
    pub book_id: u32,
}

#[computed_fields]
impl Book {
    /// Its number, doubled.
    #[computed(filter)]
    pub fn twice(&self) -> u32 {
        self.book_id * 2
    }
}

/// List books.
///
/// # Errors
/// Never.
#[operation(category = "READ")]
pub fn list_books(query: CollectionQuery<Book>) -> Result<Page<Book>, OperationError> {
    query.run(Vec::<Book>::new())
}
