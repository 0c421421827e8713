//! The changes of records for which a store runs additional statements.

use mcp_aql_core::{Context, OperationError};

use super::Statement;

/// Returns the additional statements of a change.
pub(super) type FurtherStatements<R> =
    dyn Fn(&Context, RecordChange<'_, R>) -> Result<Vec<Statement>, OperationError> + Send + Sync;

/// A change of a record, for [`SqlStore::with_statements`](super::SqlStore::with_statements).
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordChange<'a, R> {
    /// The record is new.
    Created(&'a R),
    /// The record was changed.
    Updated {
        /// The record before the change.
        old: &'a R,
        /// The record after the change.
        new: &'a R,
    },
    /// The record was deleted.
    Deleted(&'a R),
}

impl<R> Clone for RecordChange<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RecordChange<'_, R> {}
