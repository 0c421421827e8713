//! Looks up records, and checks that the caller can see them.

use std::fmt;
use std::sync::Arc;

use mcp_aql_core::OperationError;
use mcp_aql_protocol::ErrorCode;
use serde::de::DeserializeOwned;

use super::database::{AccessMode, Database, Transaction};
use super::database_error::DatabaseError;
use super::record_reader::StoredRecord;
use super::store::SqlStore;
use super::value::{SqlValue, Statement};
use crate::plan::Filter;
use crate::records::{Record, RowFilter, StoreCall};

/// A statement that finds a record of the caller.
pub(super) struct RecordLookup {
    statement: Statement,
    accepts: Accepts,
    /// Returns `true` if an error was caused by the identifier. No record has this identifier then.
    is_no_identifier: Box<dyn Fn(&DatabaseError) -> bool + Send>,
}

/// Returns `true` if the rows of a lookup show that the record exists.
type Accepts = Box<dyn FnOnce(Vec<Vec<SqlValue>>) -> Result<bool, OperationError> + Send>;

impl fmt::Debug for RecordLookup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RecordLookup").field(&self.statement).finish()
    }
}

impl RecordLookup {
    /// Returns `true` if the record exists.
    pub(super) async fn run<T: Transaction>(
        self,
        transaction: &mut T,
    ) -> Result<bool, OperationError> {
        match transaction.run(self.statement).await {
            Ok(rows) => (self.accepts)(rows),
            Err(error) if (self.is_no_identifier)(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl<R: Record> StoredRecord<R> {
    /// Returns `true` if the record exists for the caller of a row filter. It does not if it contains
    /// placeholders. A query omits such a row, too.
    pub(super) fn is_seen(&self, rows: &RowFilter<R>) -> Result<bool, OperationError> {
        Ok(!self.is_repaired && rows.matches(&self.record)?)
    }

    /// Returns an error if rules of the author would have to decide by placeholders for unreadable values.
    /// The caller can correct these values with an update that sets nothing else.
    pub(super) fn check_readable(&self, call: &StoreCall<'_, R>) -> Result<(), OperationError> {
        let is_unreadable = |field: &String| {
            self.unreadable.iter().any(|path| path.split('.').next() == Some(field.as_str()))
        };
        let is_corrected = call.all_given().is_some_and(|given| {
            !given.fields.is_empty() && given.fields.keys().all(is_unreadable)
        });
        if !call.has_rules() || self.unreadable.is_empty() || is_corrected {
            return Ok(());
        }
        let mut fields = self.unreadable.clone();
        fields.sort_unstable();
        fields.dedup();
        let singular = R::NAMES.singular;
        let message = format!(
            "The stored value of {} in the '{singular}' does not have the type of its field, so the rules for a \
             '{singular}' cannot be checked: correct it first, in an update without other fields",
            fields.iter().map(|field| format!("'{field}'")).collect::<Vec<_>>().join(", ")
        );
        Err(OperationError::new(ErrorCode::ConflictVersionMismatch, message)
            .with_detail("resource_type", singular)
            .with_detail("resource_id", self.record.id().to_string())
            .with_detail("fields", fields))
    }
}

impl<R: Record + DeserializeOwned, D: Database> SqlStore<R, D> {
    /// Reads a record. Returns `None` if it does not exist or the caller cannot see it.
    pub(super) async fn read(
        &self,
        transaction: &mut D::Transaction,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        access: AccessMode,
    ) -> Result<Option<StoredRecord<R>>, OperationError> {
        let filter = call.rows().filter()?;
        let is_locked = access == AccessMode::Write;
        let (statement, reader) = self.table.select_record(id, filter, is_locked)?;
        let rows = match transaction.run(statement).await {
            Ok(rows) => rows,
            Err(error) if self.table.has_no_such_identifier(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let found = reader.read(rows, call.all_given())?;
        let Some(found) = found else { return Ok(None) };
        let exists = reader.filters || found.is_seen(call.rows())?;
        Ok(exists.then_some(found))
    }

    /// Reads a record in a separate transaction. Returns `None` if it does not exist or the caller cannot see it.
    pub(super) async fn load(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
    ) -> Result<Option<StoredRecord<R>>, OperationError> {
        let mut transaction = self.database.begin(AccessMode::Read).await?;
        let stored = self.read(&mut transaction, call, id, AccessMode::Read).await?;
        transaction.commit().await?;
        Ok(stored)
    }

    /// Returns the statement that finds a record. A row filter without SQL is evaluated in memory.
    pub(super) fn lookup_record(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
    ) -> Result<RecordLookup, OperationError> {
        let all = Filter::All(Vec::new());
        let filter = call.rows().filter()?.unwrap_or(&all);
        let table = Arc::clone(&self.table);
        let is_no_identifier =
            Box::new(move |error: &DatabaseError| table.has_no_such_identifier(error));
        if let Some(statement) = self.table.find_record(id, filter)? {
            let accepts = Box::new(|rows: Vec<_>| Ok(!rows.is_empty()));
            return Ok(RecordLookup { statement, accepts, is_no_identifier });
        }
        let (statement, reader) = self.table.select_record(id, Some(filter), false)?;
        let filter = call.rows().clone();
        let accepts = Box::new(move |rows| match reader.read::<R>(rows, None)? {
            Some(found) => found.is_seen(&filter),
            None => Ok(false),
        });
        Ok(RecordLookup { statement, accepts, is_no_identifier })
    }

    /// Returns `true` if the table still contains a record after its deletion.
    ///
    /// A trigger may skip the deletion or insert the record again. A record hidden by the table's own
    /// conditions counts as deleted.
    pub(super) async fn is_kept(
        &self,
        transaction: &mut D::Transaction,
        id: &R::Id,
    ) -> Result<bool, OperationError> {
        match self.table.find_record(id, &Filter::All(Vec::new()))? {
            Some(statement) => Ok(!transaction.run(statement).await?.is_empty()),
            None => Ok(false),
        }
    }

    /// Rejects a stored record that its own caller could not see.
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

    /// Rejects a record with a reference to a record that does not exist for the caller.
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
