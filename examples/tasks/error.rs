//! The errors of the task board.

use std::path::PathBuf;
use std::sync::Arc;

use mcp_aql::prelude::*;
use mcp_aql::query::sql::SqlError;

/// The reason why an operation on tasks failed.
///
/// A variant without a code is an internal error: the caller reads `INTERNAL_ERROR` with a correlation id, and the log
/// has the cause.
#[derive(Debug, thiserror::Error, OperationError)]
pub(crate) enum TaskError {
    /// The task does not exist, or no longer.
    #[error("there is no task '{task_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "task", resource_id = task_id)
    )]
    NotFound {
        /// The requested identifier.
        task_id: String,
    },
    /// A task cannot be linked to itself.
    #[error("Parameter 'target_id' is the task itself: name another task")]
    #[operation_error(code = "VALIDATION_INVALID_VALUE", details(param_name = "target_id"))]
    LinkedToItself,
    /// The two tasks are already linked in this way.
    #[error("'{task_id}' already has this link to '{target_id}'")]
    #[operation_error(
        code = "CONFLICT_ALREADY_EXISTS",
        details(resource_type = "link", task_id = task_id, target_id = target_id)
    )]
    LinkedAlready {
        /// The task.
        task_id: String,
        /// The other task.
        target_id: String,
    },
    /// A query could not be answered.
    #[error(transparent)]
    #[operation_error(transparent)]
    Query(#[from] SqlError),
    /// The framework refused a change, for example because of `if_match`.
    #[error(transparent)]
    #[operation_error(transparent)]
    Refused(#[from] OperationError),
    /// The file cannot be opened or created.
    #[error("cannot open '{}'", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The file belongs to another program.
    #[error("'{}' is the database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of this adapter.
    #[error(
        "'{}' has layout version {found}, but this program only supports versions up to {known}: use a \
         newer version of the program",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The layout version of the file.
        found: u32,
        /// The newest layout version that this program knows.
        known: u32,
    },
    /// The file system does not support sharing the database between processes.
    #[error("'{}' cannot be shared between processes: choose a file on a local disk", path.display())]
    NotShareable {
        /// The file.
        path: PathBuf,
    },
    /// A task cannot be serialized.
    #[error(transparent)]
    Unwritten(#[from] serde_json::Error),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// The transaction of a change could not be committed.
    #[error(transparent)]
    NotCommitted(Arc<rusqlite::Error>),
    /// The thread or task that did the work is gone.
    #[error("the background work did not finish")]
    Unfinished,
}
