//! Identifiers of new records.

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::vocab::new_id;
use mcp_aql_protocol::ErrorCode;

/// An identifier that a store can generate for a new record. Implement it if your identifier is not one of
/// these types:
///
/// | type | identifier number 7 of an `order` |
/// |---|---|
/// | `u8` to `u64`, `i8` to `i64` | 7 |
/// | `String` | `order-7` |
#[diagnostic::on_unimplemented(
    message = "a store cannot number records by `{Self}`",
    label = "not made from a number",
    note = "implement `NewId` for `{Self}`, or identify the resource by a number or a `String`"
)]
pub trait NewId: Sized {
    /// Creates the identifier of a new record. `singular` is the name of the resource. `number` is above 0
    /// and different for each record of a store. Returns `None` if the type has no identifier with this number, as
    /// `u8` for 256. The store then rejects the new record.
    fn from_number(singular: &str, number: u64) -> Option<Self>;

    /// Creates a unique identifier, for a store that does not number its records. Returns `None` if the type
    /// cannot be random, as for numbers.
    fn random(singular: &str) -> Option<Self> {
        let _ = singular;
        None
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl NewId for $number {
            fn from_number(_singular: &str, number: u64) -> Option<Self> {
                Self::try_from(number).ok()
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl NewId for String {
    fn from_number(singular: &str, number: u64) -> Option<Self> {
        Some(format!("{singular}-{number}"))
    }

    fn random(singular: &str) -> Option<Self> {
        Some(new_id(singular))
    }
}

/// Returns the error for a new record without an identifier, because the numbers of its type are used up.
pub(crate) fn no_more_ids(singular: &str) -> OperationError {
    let message = format!(
        "No other '{singular}' can be created, because the numbers that identify its records are used up. Change an \
         existing one, or inform the administrators"
    );
    OperationError::new(ErrorCode::ConflictAlreadyExists, message)
        .with_detail("resource_type", singular)
}
