use crate::error::{IntoOperationError, OperationError};

/// Why a query was not answered, the database's own errors aside.
///
/// As an [`OperationError`] it is `INTERNAL_ERROR`, unless the request is to blame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The table was described wrongly. Ask [`SqlTable::check`](super::SqlTable::check) in a test.
    #[error("the table is described wrongly: {}", .0.join("; "))]
    Table(Vec<String>),
    /// The plan needs a field that the table has no SQL for, which
    /// [`capabilities`](super::SqlTable::capabilities) tell.
    #[error("there is no SQL for `{path}`")]
    Unmapped {
        /// The field, or `query` for the search for words.
        path: String,
    },
    /// A statement has more values than the database takes.
    #[error("the request compares with more than {limit} values")]
    TooManyValues {
        /// What the database takes.
        limit: usize,
    },
    /// An expression of the author's binds what no driver is asked to take.
    #[error("an expression binds a value {kind}: bind text, numbers and booleans")]
    Value {
        /// What it is.
        kind: &'static str,
    },
    /// The database gave something else than the table's description promises.
    #[error("the column of `{path}` holds {found} instead of {expected}")]
    Column {
        /// The field.
        path: String,
        /// What was promised.
        expected: &'static str,
        /// What came.
        found: &'static str,
    },
    /// A row is no valid value of the resource.
    #[error("a row is no valid value of its resource")]
    Row(#[source] serde_json::Error),
    /// There were fewer results than statements.
    #[error("a statement was left out")]
    Unfinished,
    /// The request asks for too much, such as too many groups.
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
