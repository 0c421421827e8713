//! What must outlive a call or a process: confirmation tokens, counters, executions, blocks.
//!
//! A [`Store`] keeps small JSON records by collection and key and changes several of them at once,
//! each only if it is still what its writer read. What the records mean is decided above it, in one
//! place for all stores: a token is used once because only one of many writers finds it unused.
//!
//! ```
//! use mcp_aql::store::{Change, Expected, MemoryStore, NewRecord, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_aql::store::StoreError> {
//! let store = MemoryStore::default();
//! let claim = || Change::put("claims", "seat-7", Expected::Absent, NewRecord::new("\"Ada\""));
//! assert!(store.write(vec![claim()]).await?);
//! assert!(!store.write(vec![claim()]).await?, "the seat is taken");
//! assert_eq!(store.get("claims", "seat-7").await?.map(|record| record.value), Some("\"Ada\"".into()));
//! # Ok(()) }
//! ```

mod memory;

use std::error::Error;

use chrono::{DateTime, Utc};

pub use memory::MemoryStore;

use crate::operation::BoxFuture;

/// Keeps records. Clones of an adapter, and with a database several processes, share one.
///
/// Every method may be called from many tasks at once. A [`write`](Self::write) is atomic and, once
/// it has returned `true`, survives whatever the store survives.
pub trait Store: Send + Sync + 'static {
    /// Makes the store ready: creates or migrates what it keeps its records in. Called before
    /// anything else, once for each process.
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// The record, whether it has expired or not; what that means is its reader's to say.
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// The records of a collection, or those of one group of it, ordered by key. Up to `most`, behind
    /// the key `after`.
    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// Makes all the changes, or none and returns `false` when a record is not what a change expects.
    /// No two changes of one call are of the same record.
    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Forgets what expired before `now`, in all collections; tells how many records that were.
    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>>;
}

/// One store for several adapters.
impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        (**self).prepare()
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        (**self).get(collection, key)
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        (**self).list(collection, group, after, most)
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        (**self).write(changes)
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        (**self).purge(now)
    }
}

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name within the collection.
    pub key: String,
    /// JSON text.
    pub value: String,
    /// Another one after each change.
    pub version: u64,
    /// What it is listed by.
    pub group: Option<String>,
    /// When it may be forgotten.
    pub expires_at: Option<DateTime<Utc>>,
}

/// A record to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// JSON text.
    pub value: String,
    /// What it is listed by.
    pub group: Option<String>,
    /// When it may be forgotten.
    pub expires_at: Option<DateTime<Utc>>,
}

impl NewRecord {
    /// A record that stays until it is removed.
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), group: None, expires_at: None }
    }

    /// Sets what it is listed by.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Sets when it may be forgotten.
    #[must_use]
    pub fn expires_at(mut self, at: DateTime<Utc>) -> Self {
        self.expires_at = Some(at);
        self
    }
}

/// What a change expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No such record.
    Absent,
    /// The record in this version.
    Version(u64),
    /// Whatever is there.
    Any,
}

/// One change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The collection.
    pub collection: String,
    /// The record's name within it.
    pub key: String,
    /// What must be there for the change to be made.
    pub expected: Expected,
    /// What is there afterwards; `None` removes the record.
    pub record: Option<NewRecord>,
}

impl Change {
    /// Keeps a record.
    pub fn put(
        collection: impl Into<String>,
        key: impl Into<String>,
        expected: Expected,
        record: NewRecord,
    ) -> Self {
        Self { collection: collection.into(), key: key.into(), expected, record: Some(record) }
    }

    /// Removes a record.
    pub fn remove(
        collection: impl Into<String>,
        key: impl Into<String>,
        expected: Expected,
    ) -> Self {
        Self { collection: collection.into(), key: key.into(), expected, record: None }
    }
}

/// A store could not do its work; for the log, never for a client.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database, file or connection failed.
    #[error("the store failed: {0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// What is kept is not what this version can read.
    #[error("{0}")]
    Unreadable(String),
}

impl StoreError {
    /// Of another library's error.
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

impl From<StoreError> for crate::OperationError {
    fn from(error: StoreError) -> Self {
        Self::internal(error)
    }
}
