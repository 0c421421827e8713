//! Errors of SQL queries.

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::error::IntoOperationError;

/// The reason why a query failed, apart from the database's own errors.
///
/// The error converts into an [`OperationError`](struct@OperationError) with `INTERNAL_ERROR`, unless the request caused it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The table's description is invalid. Call [`SqlTable::check`](super::SqlTable::check) in a test to find
    /// such errors early.
    #[error("the description of the table is wrong: {}", .0.join("; "))]
    Table(Vec<String>),
    /// The plan needs a field without SQL, although the table's
    /// [`capabilities`](super::SqlTable::capabilities) exclude it.
    #[error("there is no SQL for `{path}`")]
    Unmapped {
        /// The field, or `query` for text search.
        path: String,
    },
    /// A statement has more parameters than the database supports.
    #[error("the request compares with more than {limit} values")]
    TooManyValues {
        /// Maximum number of parameters.
        limit: usize,
    },
    /// Your expression binds a value of an unsupported type.
    #[error("an expression binds {kind}: bind strings, numbers and booleans")]
    Value {
        /// Kind of the value.
        kind: &'static str,
    },
    /// The database returned another type than the table's description specifies.
    #[error("the column of `{path}` holds {found} instead of {expected}")]
    Column {
        /// The field.
        path: String,
        /// The specified type.
        expected: &'static str,
        /// The returned type.
        found: &'static str,
    },
    /// A row does not deserialize as the resource.
    #[error("a row is not a valid value of its resource")]
    Row(#[source] serde_json::Error),
    /// `finish` was called before all statements were executed.
    #[error("not all statements were executed")]
    Unfinished,
    /// The request is too large, for example because it produces too many groups.
    #[error(transparent)]
    Request(#[from] OperationError),
}

#[diagnostic::do_not_recommend]
impl IntoOperationError for SqlError {
    fn into_operation_error(self) -> OperationError {
        match self {
            Self::Request(error) => error,
            Self::TooManyValues { .. } => {
                let expectation = "compared with fewer values";
                OperationError::invalid_value("filter", expectation).with_cause(self)
            }
            other => OperationError::internal(other),
        }
    }
}
