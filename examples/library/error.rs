//! What can go wrong, each with its code.

use mcp_aql::prelude::*;

/// Why the library said no.
///
/// Where the details suffice for the protocol's own sentence, the caller reads that one; else it
/// reads what stands in `#[error(…)]`. The protocol has no code for "not now", so what the rules of
/// the house forbid is `PERMISSION_DENIED` with a sentence that says what would help.
#[derive(Debug, thiserror::Error, OperationError)]
pub(crate) enum LendingError {
    /// The catalogue has no such book.
    #[error("there is no book '{book_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "book", resource_id = book_id)
    )]
    NoBook {
        /// The number that was asked for.
        book_id: u64,
    },
    /// Nobody has this card.
    #[error("there is no member '{member_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "member", resource_id = member_id)
    )]
    NoMember {
        /// The number that was asked for.
        member_id: u64,
    },
    /// There is no such loan, or the book is back.
    #[error("there is no open loan '{loan_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "loan", resource_id = loan_id)
    )]
    NoLoan {
        /// The number that was asked for.
        loan_id: u64,
    },
    /// The member has a copy of this book.
    #[error("member '{member_id}' has this book already, with loan '{loan_id}'")]
    #[operation_error(
        code = "CONFLICT_ALREADY_EXISTS",
        details(resource_type = "loan", resource_id = loan_id)
    )]
    HasIt {
        /// Who has it.
        member_id: u64,
        /// The loan.
        loan_id: u64,
    },
    /// No copy is left.
    #[error("All '{copies}' copies of the book are lent; try again when one is back")]
    #[operation_error(code = "PERMISSION_DENIED", details(copies = copies))]
    AllLent {
        /// How many there are.
        copies: u32,
    },
    /// The member has as many books as anyone may have.
    #[error("A member may have '{limit}' books; return one first")]
    #[operation_error(code = "PERMISSION_DENIED", details(limit = limit))]
    TooMany {
        /// The most that a member may have.
        limit: usize,
    },
    /// A book that is lent stays in the catalogue.
    #[error("'{lent}' copies of the book are lent; it can be deleted when they are back")]
    #[operation_error(code = "PERMISSION_DENIED", details(lent = lent))]
    StillLent {
        /// Copies that are out.
        lent: u32,
    },
    /// There would be fewer copies than are lent.
    #[error("Parameter 'input.copies' must not be less than the '{lent}' copies now lent")]
    #[operation_error(
        code = "VALIDATION_INVALID_VALUE",
        details(param_name = "input.copies", lent = lent)
    )]
    TooFew {
        /// Copies that are out.
        lent: u32,
    },
    /// A change was refused, as by `if_match`, or a page, as by a cursor of another list.
    #[error(transparent)]
    #[operation_error(transparent)]
    Refused(#[from] OperationError),
}
