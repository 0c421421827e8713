//! Whether a record exists for the caller.

use std::fmt;

use mcp_aql_core::error::OperationError;
use serde::de::DeserializeOwned;

use super::database::{Database, Transaction};
use super::database_error::DatabaseError;
use super::record_reader::StoredRecord;
use super::store::SqlStore;
use super::value::{SqlValue, Statement};
use crate::plan::Filter;
use crate::records::{Record, RowFilter, StoreCall};

/// A statement that finds a record which exists for the caller.
pub(super) struct RecordLookup {
    statement: Statement,
    accepts: Accepts,
}

/// Whether the rows of a lookup show that the record exists.
type Accepts = Box<dyn FnOnce(Vec<Vec<SqlValue>>) -> Result<bool, OperationError> + Send>;

impl fmt::Debug for RecordLookup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RecordLookup").field(&self.statement).finish()
    }
}

impl RecordLookup {
    /// Returns whether the record exists.
    pub(super) async fn run<T: Transaction>(
        self,
        transaction: &mut T,
    ) -> Result<bool, OperationError> {
        match transaction.run(self.statement).await {
            Ok(rows) => (self.accepts)(rows),
            // No record has an identifier that its column cannot have.
            Err(DatabaseError::Value(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl<R: Record> StoredRecord<R> {
    /// Whether the record exists for the callers of a row filter. If it has a value that cannot be compared, it does not.
    pub(super) fn is_seen(&self, rows: &RowFilter<R>) -> Result<bool, OperationError> {
        Ok(self.unreadable.is_empty() && rows.matches(&self.record)?)
    }
}

impl<R: Record + DeserializeOwned, D: Database> SqlStore<R, D> {
    /// The statement that finds a record. A row filter without SQL is compared in memory.
    pub(super) fn lookup_record(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
    ) -> Result<RecordLookup, OperationError> {
        let all = Filter::All(Vec::new());
        let filter = call.rows().filter()?.unwrap_or(&all);
        if let Some(statement) = self.table.find_record(id, filter)? {
            return Ok(RecordLookup { statement, accepts: Box::new(|rows| Ok(!rows.is_empty())) });
        }
        let (statement, reader) = self.table.select_record(id, Some(filter), false)?;
        let filter = call.rows().clone();
        let accepts = Box::new(move |rows| match reader.read::<R>(rows, None)? {
            Some(found) => found.is_seen(&filter),
            None => Ok(false),
        });
        Ok(RecordLookup { statement, accepts })
    }

    /// Refuses a record, as it is stored, that its own caller could not see.
    pub(super) async fn check_stays(
        &self,
        transaction: &mut D::Transaction,
        call: &StoreCall<'_, R>,
        stored: &StoredRecord<R>,
    ) -> Result<(), OperationError> {
        if call.rows().filter()?.is_none() {
            return Ok(());
        }
        match self.lookup_record(call, stored.record.id())?.run(transaction).await? {
            true => Ok(()),
            false => Err(StoreCall::<R>::would_leave()),
        }
    }

    /// Refuses a record that refers to one which does not exist for the caller.
    pub(super) async fn check_references(
        &self,
        transaction: &mut D::Transaction,
        call: &StoreCall<'_, R>,
        old: Option<&StoredRecord<R>>,
        new: &R,
    ) -> Result<(), OperationError> {
        let unknown = old.map_or(&[][..], |old| &old.unreadable);
        for check in call.changed_references(old.map(|old| &old.record), unknown, new)? {
            let database = self.database.identity();
            let Some(lookup) = check.lookup::<RecordLookup>(call.context(), database)? else {
                check.run(call.context()).await?;
                continue;
            };
            if !lookup.run(transaction).await? {
                return Err(check.refused());
            }
        }
        Ok(())
    }
}
