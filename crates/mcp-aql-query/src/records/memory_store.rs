//! A store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use mcp_aql_core::internal::util::{read_lock, write_lock};
use mcp_aql_core::{OperationError, Page};
use mcp_aql_protocol::ErrorCode;
use tokio::sync::Mutex;

use super::new_id::{NewId, no_more_ids};
use super::{Record, ResourceStore, StoreCall, changed_identifier};
use crate::collection::CollectionQuery;
use crate::single::{Fields, SelectedFields};

/// Records in memory. They are lost when the process ends. Clones share the records.
///
/// Use it for prototypes and tests, or for data that may be lost.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::resource::MemoryRecords;
/// use serde::{Deserialize, Serialize};
/// use serde_json::json;
///
/// /// A book.
/// #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
/// #[resource(operations)]
/// struct Book {
///     /// Number of the book.
///     #[resource(id)]
///     book_id: u32,
///     /// Title of the book.
///     #[resource(search, sort)]
///     #[param(min_length = 1)]
///     title: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let books = MemoryRecords::<Book>::new();
/// let adapter = Adapter::builder("library").resource(books.clone()).build()?;
/// adapter.call("create_book", json!({ "title": "Emma" })).await;
/// let found = adapter.call("search_books", json!({ "query": "emma" })).await;
/// assert_eq!(found.data()["items"][0]["book_id"], 1);
/// assert_eq!(books.read(|books| books.len()), 1);
/// # Ok(()) }
/// ```
pub struct MemoryRecords<R: Record> {
    shared: Arc<Shared<R>>,
}

struct Shared<R: Record> {
    records: RwLock<Records<R>>,
    /// Held during a call that changes records, because the call may wait for other stores in between.
    turn: Mutex<()>,
}

/// The records, the number of the last new one, and the number of changes.
struct Records<R: Record> {
    by_id: BTreeMap<R::Id, R>,
    last_number: u64,
    changes: u64,
}

impl<R: Record> MemoryRecords<R> {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::from_iter([])
    }

    /// Calls a function with the records, sorted by identifier. Other calls cannot change the records until
    /// it returns.
    pub fn read<T>(&self, read: impl FnOnce(&BTreeMap<R::Id, R>) -> T) -> T {
        read(&self.records().by_id)
    }

    /// Calls a function that may change the records. Other calls wait until it returns.
    pub fn write<T>(&self, write: impl FnOnce(&mut BTreeMap<R::Id, R>) -> T) -> T {
        write(&mut self.records_mut().by_id)
    }

    // Poisoning can be ignored. A store's methods replace a record as a whole, so a panic in their closures
    // leaves the records unchanged. The closure of `write` is the responsibility of its author.
    fn records(&self) -> RwLockReadGuard<'_, Records<R>> {
        read_lock(&self.shared.records)
    }

    fn records_mut(&self) -> RwLockWriteGuard<'_, Records<R>> {
        let mut records = write_lock(&self.shared.records);
        records.changes += 1;
        records
    }
}

impl<R: Record> FromIterator<R> for MemoryRecords<R> {
    fn from_iter<I: IntoIterator<Item = R>>(records: I) -> Self {
        let by_id = records.into_iter().map(|record| (record.id().clone(), record)).collect();
        let records = RwLock::new(Records { by_id, last_number: 0, changes: 0 });
        Self { shared: Arc::new(Shared { records, turn: Mutex::new(()) }) }
    }
}

impl<R: Record> Default for MemoryRecords<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Record> Clone for MemoryRecords<R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R: Record> fmt::Debug for MemoryRecords<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.records().by_id.len();
        formatter.debug_struct("MemoryRecords").field("count", &count).finish_non_exhaustive()
    }
}

// Calls cannot see the records before the lock is released, so `after` may run just before the change.
impl<R: Record<Id: NewId>> ResourceStore for MemoryRecords<R> {
    type Resource = R;
    type Row = R;

    async fn insert(
        &self,
        call: &StoreCall<'_, R>,
        make: impl FnOnce(R::Id) -> Result<R, OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<R, OperationError> {
        let _turn = self.shared.turn.lock().await;
        let (number, id) = self.next_id()?;
        let record = make(id)?;
        call.check_references(None, &record).await?;
        call.check_stays(&record)?;
        // Lock the records only now, because the lock must not be held while other stores are awaited.
        let mut records = self.records_mut();
        records.last_number = number;
        if records.by_id.contains_key(record.id()) {
            return Err(OperationError::already_exists(R::NAMES.singular, record.id()));
        }
        after(&record)?;
        records.by_id.insert(record.id().clone(), record.clone());
        Ok(record)
    }

    async fn get(&self, call: &StoreCall<'_, R>, id: &R::Id) -> Result<Option<R>, OperationError> {
        self.visible(call, id).map(|found| found.map(|(record, _)| record))
    }

    async fn get_fields(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        fields: &Fields<R>,
    ) -> Result<Option<SelectedFields<R>>, OperationError> {
        Ok(self.get(call, id).await?.map(|record| fields.of(record)))
    }

    async fn select(
        &self,
        call: &StoreCall<'_, R>,
        query: &CollectionQuery<R>,
    ) -> Result<Page<R>, OperationError> {
        query.restricted(call.rows())?.run(self.records().by_id.values())
    }

    async fn update(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        change: impl FnOnce(&mut R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<R>, OperationError> {
        let _turn = self.shared.turn.lock().await;
        let Some((old, changes)) = self.visible(call, id)? else { return Ok(None) };
        let mut record = old.clone();
        change(&mut record)?;
        if record.id() != id {
            return Err(changed_identifier());
        }
        call.check_references(Some(&old), &record).await?;
        call.check_stays(&record)?;
        let mut records = self.unchanged_since(changes)?;
        after(&record)?;
        records.by_id.insert(id.clone(), record.clone());
        Ok(Some(record))
    }

    async fn delete(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
        check: impl FnOnce(&R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<R>, OperationError> {
        let _turn = self.shared.turn.lock().await;
        let Some((record, changes)) = self.visible(call, id)? else { return Ok(None) };
        check(&record)?;
        let mut records = self.unchanged_since(changes)?;
        after(&record)?;
        Ok(records.by_id.remove(id))
    }
}

impl<R: Record> MemoryRecords<R> {
    /// Returns a record and the number of changes so far. Returns `None` if the record does not exist or the caller
    /// cannot see it.
    fn visible(
        &self,
        call: &StoreCall<'_, R>,
        id: &R::Id,
    ) -> Result<Option<(R, u64)>, OperationError> {
        let records = self.records();
        let Some(record) = records.by_id.get(id) else { return Ok(None) };
        Ok(call.sees(record)?.then(|| (record.clone(), records.changes)))
    }

    /// Locks the records for a change. Returns an error if [`write`](Self::write) has changed them since
    /// `changes` was read.
    fn unchanged_since(
        &self,
        changes: u64,
    ) -> Result<RwLockWriteGuard<'_, Records<R>>, OperationError> {
        let records = self.records_mut();
        if records.changes == changes + 1 {
            return Ok(records);
        }
        let message = format!(
            "The '{}' was changed by another call during this one: try again",
            R::NAMES.singular
        );
        Err(OperationError::new(ErrorCode::ConflictVersionMismatch, message))
    }
}

impl<R: Record<Id: NewId>> MemoryRecords<R> {
    /// Returns the number and the identifier of a new record.
    fn next_id(&self) -> Result<(u64, R::Id), OperationError> {
        let singular = R::NAMES.singular;
        let records = self.records();
        // The identifiers that callers choose are not counted. The one returned for them is not used.
        let mut number = if R::CHOSEN_ID { 0 } else { records.last_number };
        loop {
            number += 1;
            let id = R::Id::from_number(singular, number).ok_or_else(|| no_more_ids(singular))?;
            if R::CHOSEN_ID || !records.by_id.contains_key(&id) {
                return Ok((number, id));
            }
        }
    }
}
