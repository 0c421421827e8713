//! What can go wrong.

use std::path::PathBuf;
use std::sync::Arc;

use mcp_aql::prelude::*;
use mcp_aql::query::sql::SqlError;

/// Why an operation on tasks failed.
///
/// A variant without a code is a fault of the adapter: the caller reads `INTERNAL_ERROR` with a
/// correlation id, and the log has the cause.
#[derive(Debug, thiserror::Error, OperationError)]
pub(crate) enum TaskError {
    /// There is no such task, or no longer.
    #[error("there is no task '{task_id}'")]
    #[operation_error(
        code = "NOT_FOUND_RESOURCE",
        details(resource_type = "task", resource_id = task_id)
    )]
    NotFound {
        /// The identifier that was asked for.
        task_id: String,
    },
    /// A task cannot hang together with itself.
    #[error("Parameter 'target_id' is the task itself: name another")]
    #[operation_error(code = "VALIDATION_INVALID_VALUE", details(param_name = "target_id"))]
    LinkedToItself,
    /// The two tasks hang together like that already.
    #[error("'{task_id}' and '{target_id}' are already linked like this")]
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
    /// A query was not answered.
    #[error(transparent)]
    #[operation_error(transparent)]
    Query(#[from] SqlError),
    /// A change was refused, as by `if_match`.
    #[error(transparent)]
    #[operation_error(transparent)]
    Refused(#[from] OperationError),
    /// The file cannot be opened or created.
    #[error("cannot open '{}'", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
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
        "'{}' has the layout {found}, and this version knows up to {known}: use a newer version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's layout.
        found: u32,
        /// The newest layout that this version knows.
        known: u32,
    },
    /// Several processes cannot share a database here.
    #[error("'{}' cannot be shared between processes: choose a file on a local disk", path.display())]
    NotShareable {
        /// The file.
        path: PathBuf,
    },
    /// A task cannot be written down.
    #[error(transparent)]
    Unwritten(#[from] serde_json::Error),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// A change was not committed together with the others of its batch.
    #[error(transparent)]
    NotCommitted(Arc<rusqlite::Error>),
    /// What ran the work is gone.
    #[error("the work was not finished")]
    Unfinished,
}
