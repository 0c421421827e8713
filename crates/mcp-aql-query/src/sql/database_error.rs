//! The errors of databases, and what callers see of them.

use std::error::Error;

use mcp_aql_core::error::OperationError;
use mcp_aql_protocol::ErrorCode;

use crate::records::Record;

/// An error of a database. Every error and every message converts into `Other` with `?`, so that this type itself is not
/// a [`std::error::Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// A unique column has the value already.
    Unique(Box<dyn Error + Send + Sync>),
    /// A foreign key refers to no row, or a row to be deleted is still referred to.
    Reference(Box<dyn Error + Send + Sync>),
    /// A value violates a CHECK constraint or NOT NULL, or its column cannot contain it.
    Value(Box<dyn Error + Send + Sync>),
    /// Any other error, which callers see as `INTERNAL_ERROR`.
    Other(Box<dyn Error + Send + Sync>),
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for DatabaseError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl From<DatabaseError> for OperationError {
    fn from(error: DatabaseError) -> Self {
        Self::internal(error.into_cause())
    }
}

impl DatabaseError {
    fn into_cause(self) -> Box<dyn Error + Send + Sync> {
        match self {
            Self::Unique(cause)
            | Self::Reference(cause)
            | Self::Value(cause)
            | Self::Other(cause) => cause,
        }
    }

    /// The error for a record that cannot be written.
    /// `place` comes before the name of a field: `input.` in an update.
    pub(super) fn refusing<R: Record>(self, place: &str) -> OperationError {
        let singular = R::NAMES.singular;
        let error = |code: ErrorCode, message: String| {
            OperationError::new(code, message).with_detail("resource_type", singular)
        };
        let refused = |message: String| error(ErrorCode::ValidationInvalidValue, message);
        let error = match &self {
            Self::Unique(_) => error(
                ErrorCode::ConflictAlreadyExists,
                format!(
                    "Another '{singular}' has the same value in a field whose values are unique"
                ),
            ),
            Self::Reference(_) => match R::REFERENCES {
                [one] => OperationError::invalid_value(
                    &format!("{place}{}", one.field),
                    format!("must identify an existing {}", one.target),
                ),
                [] => refused(format!("The '{singular}' refers to a missing record")),
                several => {
                    let fields = several.iter().map(|it| format!("'{place}{}'", it.field));
                    let fields = fields.collect::<Vec<_>>().join(", ");
                    refused(format!("The '{singular}' refers to a missing record: check {fields}"))
                }
            },
            Self::Value(_) => refused(format!(
                "A value of the '{singular}' is not allowed: compare all values with the descriptions of the parameters"
            )),
            Self::Other(_) => return self.into(),
        };
        error.with_cause(self.into_cause())
    }

    /// The error for a record that cannot be deleted.
    pub(super) fn refusing_deletion<R: Record>(self, record: &R) -> OperationError {
        let Self::Reference(cause) = self else { return self.refusing::<R>("") };
        let singular = R::NAMES.singular;
        let message = format!(
            "Other records refer to the '{singular}': change or delete them before you delete it"
        );
        OperationError::new(ErrorCode::ConflictVersionMismatch, message)
            .with_detail("resource_type", singular)
            .with_detail("resource_id", record.id().to_string())
            .with_cause(cause)
    }
}
