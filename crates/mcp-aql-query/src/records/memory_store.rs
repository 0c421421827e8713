//! A store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use mcp_aql_core::error::OperationError;
use mcp_aql_core::operation::Context;
use mcp_aql_core::paging::Page;

use super::new_id::NewId;
use super::{Record, ResourceStore, changed_identifier};
use crate::collection::CollectionQuery;

/// Records in memory. They are lost when the process ends. Clones share the records.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::resource::MemoryStore;
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
/// let books = MemoryStore::<Book>::new();
/// let adapter = Adapter::builder("library").resource(books.clone()).build()?;
/// adapter.call("create_book", json!({ "title": "Emma" })).await;
/// let found = adapter.call("search_books", json!({ "query": "emma" })).await;
/// assert_eq!(found.data()["items"][0]["book_id"], 1);
/// assert_eq!(books.read(|books| books.len()), 1);
/// # Ok(()) }
/// ```
pub struct MemoryStore<R: Record> {
    shared: Arc<RwLock<Records<R>>>,
}

/// The records, and the number of the last new one.
struct Records<R: Record> {
    by_id: BTreeMap<R::Id, R>,
    last_number: u64,
}

impl<R: Record> MemoryStore<R> {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::from_iter([])
    }

    /// Calls a function with the records by their identifiers. Other calls cannot change them meanwhile.
    pub fn read<T>(&self, read: impl FnOnce(&BTreeMap<R::Id, R>) -> T) -> T {
        read(&self.records().by_id)
    }

    /// Calls a function that may change the records. Other calls wait meanwhile.
    pub fn write<T>(&self, write: impl FnOnce(&mut BTreeMap<R::Id, R>) -> T) -> T {
        write(&mut self.records_mut().by_id)
    }

    // A panic in a store's closure leaves the records as they were: they are replaced as a whole. The closure of `write`
    // changes them itself, and is its author's responsibility.
    fn records(&self) -> RwLockReadGuard<'_, Records<R>> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn records_mut(&self) -> RwLockWriteGuard<'_, Records<R>> {
        self.shared.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Record> FromIterator<R> for MemoryStore<R> {
    fn from_iter<I: IntoIterator<Item = R>>(records: I) -> Self {
        let by_id = records.into_iter().map(|record| (record.id().clone(), record)).collect();
        Self { shared: Arc::new(RwLock::new(Records { by_id, last_number: 0 })) }
    }
}

impl<R: Record> Default for MemoryStore<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Record> Clone for MemoryStore<R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R: Record> fmt::Debug for MemoryStore<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.records().by_id.len();
        formatter.debug_struct("MemoryStore").field("count", &count).finish_non_exhaustive()
    }
}

// No other call sees the records before the lock is released, so `after` may run just before the change.
impl<R: Record<Id: NewId>> ResourceStore for MemoryStore<R> {
    type Resource = R;
    type Row = R;

    async fn insert(
        &self,
        _context: &Context,
        make: impl FnOnce(R::Id) -> Result<R, OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<R, OperationError> {
        let mut records = self.records_mut();
        let mut number = records.last_number;
        let id = loop {
            number += 1;
            let id = R::Id::from_number(R::NAMES.singular, number);
            if !records.by_id.contains_key(&id) {
                break id;
            }
        };
        let record = make(id)?;
        records.last_number = number;
        if records.by_id.contains_key(record.id()) {
            return Err(OperationError::already_exists(R::NAMES.singular, record.id()));
        }
        after(&record)?;
        records.by_id.insert(record.id().clone(), record.clone());
        Ok(record)
    }

    async fn get(&self, _context: &Context, id: &R::Id) -> Result<Option<R>, OperationError> {
        Ok(self.records().by_id.get(id).cloned())
    }

    async fn select(
        &self,
        _context: &Context,
        query: &CollectionQuery<R>,
    ) -> Result<Page<R>, OperationError> {
        query.run(self.records().by_id.values())
    }

    async fn update(
        &self,
        _context: &Context,
        id: &R::Id,
        change: impl FnOnce(&mut R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<R>, OperationError> {
        let mut records = self.records_mut();
        let Some(stored) = records.by_id.get_mut(id) else { return Ok(None) };
        let mut record = stored.clone();
        change(&mut record)?;
        if record.id() != id {
            return Err(changed_identifier());
        }
        after(&record)?;
        stored.clone_from(&record);
        Ok(Some(record))
    }

    async fn delete(
        &self,
        _context: &Context,
        id: &R::Id,
        check: impl FnOnce(&R) -> Result<(), OperationError> + Send,
        after: impl FnOnce(&R) -> Result<(), OperationError> + Send,
    ) -> Result<Option<R>, OperationError> {
        let mut records = self.records_mut();
        let Some(stored) = records.by_id.get(id) else { return Ok(None) };
        check(stored)?;
        after(stored)?;
        Ok(records.by_id.remove(id))
    }
}
