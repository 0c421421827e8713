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
//!
//! # Which store?
//!
//! | | what it keeps survives | for | feature |
//! |---|---|---|---|
//! | [`MemoryStore`] | nothing: it ends with the process | tests, and adapters that may forget | – |
//! | `SqliteStore` | the process and the machine's restart | one process, or several on one machine | `sqlite` |
//! | `PostgresStore` | what the server does | processes on several machines, behind a load balancer | `postgres` |
//!
//! # A store of your own
//!
//! Whatever can change several records in one transaction can be a [`Store`]. What others rely on:
//!
//! - **All or nothing.** A [`write`](Store::write) with several changes is never seen half done, by no
//!   reader and after no crash. What it expects still holds when its changes are made: of any number
//!   of writers that expect the same of one record, exactly one is told `true`. To look first and write
//!   afterwards is not enough, unless nobody can write in between.
//! - **`true` is a promise.** A record that was acknowledged is found by every later
//!   [`get`](Store::get), from every process that shares the store.
//! - **A version is given once.** Not even a record that was removed and made anew has one that it had
//!   before; else a writer with an old version would find it by accident. One counter for the whole
//!   store does it.
//! - **Texts are any text.** Keys may have U+0000 in them, values are some hundred kilobytes long at
//!   times, and [`list`](Store::list) orders keys by their bytes. Ask [`Change::check`] before you write.
//! - **Expiry is for clearing up.** [`get`](Store::get) and [`list`](Store::list) return what has
//!   expired, until [`purge`](Store::purge) forgets what expired *before* the moment it is given.
//! - **Errors change nothing about that.** After one a `write` was made as a whole or not at all.

#[cfg(test)]
pub(crate) mod hooked;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

use crate::future::BoxFuture;

/// Set once a store is prepared, for everything that shares the store.
pub(crate) type Ready = tokio::sync::OnceCell<()>;

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
    /// the key `after`. One that is damaged hides none of the others: it may be among them with a value
    /// that is no JSON.
    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// Makes all the changes, or none and returns `false` when a record is not what a change expects.
    /// No two changes of one call are of the same record, and no name is too long:
    /// [`Change::check`] tells.
    ///
    /// After an error, or when its future is dropped, the changes are made or not, but never some of
    /// them.
    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Forgets what expired before `now`, in all collections; tells how many records that were.
    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Whether all that it keeps ends with the process. An adapter warns, when it begins to serve, of
    /// settings that make no sense with such a store.
    fn is_fleeting(&self) -> bool {
        false
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
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

    fn is_fleeting(&self) -> bool {
        (**self).is_fleeting()
    }
}

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name within the collection.
    pub key: String,
    /// JSON text.
    pub value: String,
    /// Another one after each change, and one that no record ever had, not even one of this key that
    /// was removed since.
    pub version: u64,
    /// What it is listed by.
    pub group: Option<String>,
    /// When it may be forgotten, in whole microseconds.
    pub expires_at: Option<DateTime<Utc>>,
}

/// A record to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// JSON text.
    pub value: String,
    /// What it is listed by.
    pub group: Option<String>,
    /// When it may be forgotten, to the microsecond.
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

    /// Whether a store can make these changes at once; every store asks this first.
    ///
    /// # Errors
    /// A name is longer than every store can find it by, [`MOST_KEY_BYTES`] and
    /// [`MOST_NAME_BYTES`], or two changes are of one record.
    pub fn check(changes: &[Self]) -> Result<(), StoreError> {
        let mut seen = HashSet::new();
        for change in changes {
            let group = change.record.as_ref().and_then(|record| record.group.as_deref());
            for (what, name, most) in [
                ("collection", &*change.collection, MOST_NAME_BYTES),
                ("key", &*change.key, MOST_KEY_BYTES),
                ("group", group.unwrap_or_default(), MOST_NAME_BYTES),
            ] {
                let length = name.len();
                if length > most {
                    let message = format!("a {what} of {length} bytes: it may have {most}");
                    return Err(StoreError::failed(message));
                }
            }
            if !seen.insert((&change.collection, &change.key)) {
                return Err(StoreError::failed("two changes of one record in one call"));
            }
        }
        Ok(())
    }
}

/// So long the key of a record may be.
pub const MOST_KEY_BYTES: usize = 512;
/// So long the name of a collection or a group may be.
pub const MOST_NAME_BYTES: usize = 256;

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

#[diagnostic::do_not_recommend]
impl crate::IntoOperationError for StoreError {
    fn into_operation_error(self) -> crate::OperationError {
        crate::OperationError::internal(self)
    }
}
