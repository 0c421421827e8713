//! The errors of the lending rules, each with its error code.

use mcp_aql::prelude::*;

/// The reason why the library refused a call.
///
/// If the details fill the protocol's message template, the caller reads that message. Otherwise it reads the message of
/// `#[error(…)]`. The protocol has no code for "not now", so calls that break a lending rule get
/// `PERMISSION_DENIED` with a message that states what would help.
#[derive(Debug, thiserror::Error, OperationError)]
pub(crate) enum LendingError {
    /// The catalogue has no such book.
    #[error("there is no book '{book_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "book", resource_id = book_id)
    )]
    NoBook {
        /// The requested number.
        book_id: u64,
    },
    /// No member has this card.
    #[error("there is no member '{member_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "member", resource_id = member_id)
    )]
    NoMember {
        /// The requested number.
        member_id: u64,
    },
    /// No such loan exists, or the book has been returned.
    #[error("there is no open loan '{loan_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "loan", resource_id = loan_id)
    )]
    NoLoan {
        /// The requested number.
        loan_id: u64,
    },
    /// The member already has a copy of this book.
    #[error("member '{member_id}' has already borrowed this book with loan '{loan_id}'")]
    #[operation_error(
        code = "CONFLICT_ALREADY_EXISTS",
        details(resource_type = "loan", resource_id = loan_id)
    )]
    HasIt {
        /// The member.
        member_id: u64,
        /// The open loan.
        loan_id: u64,
    },
    /// All copies are lent.
    #[error("All '{copies}' copies of the book are lent; try again after one was returned")]
    #[operation_error(code = "PERMISSION_DENIED", details(copies = copies))]
    AllLent {
        /// The number of copies.
        copies: u32,
    },
    /// The member has reached the maximum number of loans.
    #[error("A member may borrow up to '{limit}' books; return one first")]
    #[operation_error(code = "PERMISSION_DENIED", details(limit = limit))]
    TooMany {
        /// The maximum number of loans of a member.
        limit: usize,
    },
    /// A lent book cannot be deleted.
    #[error("'{lent}' copies of the book are lent; delete it after they were returned")]
    #[operation_error(code = "PERMISSION_DENIED", details(lent = lent))]
    StillLent {
        /// The number of lent copies.
        lent: u32,
    },
    /// The change would leave fewer copies than are lent.
    #[error("Parameter 'input.copies' must not be less than the '{lent}' copies now lent")]
    #[operation_error(
        code = "VALIDATION_INVALID_VALUE",
        details(param_name = "input.copies", lent = lent)
    )]
    TooFew {
        /// The number of lent copies.
        lent: u32,
    },
    /// The framework refused a change, for example because of `if_match`, or a page, for example because of a cursor of
    /// another list.
    #[error(transparent)]
    #[operation_error(transparent)]
    Refused(#[from] OperationError),
}
