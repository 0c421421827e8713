//! State that must outlive a call or a process: confirmation tokens, counters, executions, blocks.
//!
//! A [`StateStore`] keeps small JSON records by collection and key. It changes several of them atomically, each one
//! only if it still has the version that the writer has read. The meaning of the records is defined above the store,
//! once for all stores. For example, a token is used only once because only one writer finds it unused.
//!
//! ```
//! use mcp_aql::store::{Change, Expected, MemoryState, NewRecord, StateStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), mcp_aql::store::StoreError> {
//! let store = MemoryState::default();
//! let claim = || Change::put("claims", "seat-7", Expected::Absent, NewRecord::new("\"Ada\""));
//! assert!(store.write(vec![claim()]).await?);
//! assert!(!store.write(vec![claim()]).await?, "the seat is taken");
//! assert_eq!(store.get("claims", "seat-7").await?.map(|record| record.value), Some("\"Ada\"".into()));
//! # Ok(()) }
//! ```
//!
//! # Which store to use
//!
//! | | records survive | for | feature |
//! |---|---|---|---|
//! | [`MemoryState`] | nothing: they end with the process | tests, and adapters whose state may be lost | – |
//! | `SqliteState` | the process and the machine's restart | one process, or several on one machine | `sqlite` |
//! | `PostgresState` | as configured on the server | several machines behind a load balancer | `postgres` |
//!
//! # A custom store
//!
//! You can implement [`StateStore`] for any storage with transactions over several records. Its users rely on these
//! guarantees:
//!
//! - **All or nothing.** No reader sees a [`write`](StateStore::write) with several changes half done, not even after a
//!   crash. The expectations of the changes still hold when the changes are made: if several writers expect the same
//!   version of a record, exactly one of them receives `true`. Reading first and writing afterwards is not enough,
//!   unless no other process can write in between.
//! - **`true` is durable.** Every later [`get`](StateStore::get), in every process that shares the store, returns the
//!   acknowledged record.
//! - **Versions are unique.** A record does not reuse a version when it is removed and created again. Otherwise, a
//!   writer with an old version would match it by accident. One counter for the whole store is enough.
//! - **All strings are valid.** Keys may contain U+0000, values can have several hundred kilobytes, and
//!   [`list`](StateStore::list) orders keys by their bytes. Call [`Change::check`] before you write.
//! - **Expiry only permits deletion.** [`get`](StateStore::get) and [`list`](StateStore::list) return expired records
//!   until [`purge`](StateStore::purge) deletes those that expired *before* the given time.
//! - **Errors keep these guarantees.** After an error, either all changes of a `write` were made, or none.

#[cfg(any(test, feature = "test-util"))]
pub mod hooked;
mod memory;
mod monitored;

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use memory::MemoryState;
pub(crate) use monitored::{MonitoredStore, chain};

use self::monitored::LoggedError;
use crate::util::BoxFuture;

/// Set once the store is prepared. All users of the store share it.
pub(crate) type Ready = tokio::sync::OnceCell<()>;

/// Stores records. Clones of an adapter share one store. With a database, several processes can share it.
///
/// You rarely need to implement this trait; see the module [`store`](crate::store) for the available stores and for
/// the guarantees that a custom store must give. Every method may be called from many tasks at once. A
/// [`write`](Self::write) is atomic, and once it has returned `true`, it is as durable as the storage itself.
pub trait StateStore: Send + Sync + 'static {
    /// Prepares the store, for example by creating or migrating its tables. It is called once per process, before any
    /// other method.
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the record, even if it has expired. The reader decides what expiry means.
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>>;

    /// Returns the records of a collection, or of one group in it, ordered by key. At most `limit` records after the
    /// key `after` are returned. A damaged record must not hide others. Its value may be returned even if it is
    /// invalid JSON.
    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>>;

    /// Makes all changes and returns `true`. Returns `false` and makes no change if a record does not match the
    /// expectation of its change.
    ///
    /// A call has at most one change per record, and names are limited in length; see [`Change::check`]. After an
    /// error, or when the future is dropped, either all changes were made or none.
    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Deletes all records that expired before `now`, in all collections. Returns their number.
    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Returns `true` if all records end with the process. An adapter that starts to serve then warns about settings
    /// that need a durable store.
    fn is_fleeting(&self) -> bool {
        false
    }
}

impl<S: StateStore + ?Sized> StateStore for Arc<S> {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        (**self).prepare()
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        (**self).get(collection, key)
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        (**self).list(collection, group, after, limit)
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

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRecord {
    /// Name of the record within the collection.
    pub key: String,
    /// Value as JSON.
    pub value: String,
    /// Version, unique among all versions of all records of the store. Every change assigns a new one.
    pub version: u64,
    /// Group by which the record can be listed.
    pub group: Option<String>,
    /// Time after which the record may be deleted, truncated to microseconds.
    pub expires_at: Option<DateTime<Utc>>,
}

/// A record to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// Value as JSON.
    pub value: String,
    /// Group by which the record can be listed.
    pub group: Option<String>,
    /// Time after which the record may be deleted. The store truncates it to microseconds.
    pub expires_at: Option<DateTime<Utc>>,
}

impl NewRecord {
    /// Creates a record that stays until you remove it.
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: value.into(), group: None, expires_at: None }
    }

    /// Sets the group by which you can list the record.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Sets the time after which the record may be deleted.
    #[must_use]
    pub fn expires_at(mut self, at: DateTime<Utc>) -> Self {
        self.expires_at = Some(at);
        self
    }
}

/// The state that a record must have for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The record does not exist.
    Absent,
    /// The record has this version.
    Version(u64),
    /// Any state.
    Any,
}

/// A change of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Collection of the record.
    pub collection: String,
    /// Name of the record within the collection.
    pub key: String,
    /// State that the record must have.
    pub expected: Expected,
    /// New record. `None` removes the record.
    pub record: Option<NewRecord>,
}

impl Change {
    /// Creates a change that stores a record.
    pub fn put(
        collection: impl Into<String>,
        key: impl Into<String>,
        expected: Expected,
        record: NewRecord,
    ) -> Self {
        Self { collection: collection.into(), key: key.into(), expected, record: Some(record) }
    }

    /// Creates a change that removes a record.
    pub fn remove(
        collection: impl Into<String>,
        key: impl Into<String>,
        expected: Expected,
    ) -> Self {
        Self { collection: collection.into(), key: key.into(), expected, record: None }
    }

    /// Checks whether a store can make these changes in one call. Call it first in your implementation of
    /// [`StateStore::write`].
    ///
    /// # Errors
    ///
    /// Returns an error if a name is longer than [`MAX_KEY_BYTES`] or [`MAX_NAME_BYTES`], or if two changes concern
    /// the same record.
    pub fn check(changes: &[Self]) -> Result<(), StoreError> {
        let mut seen = HashSet::new();
        for change in changes {
            let group = change.record.as_ref().and_then(|record| record.group.as_deref());
            for (what, name, most) in [
                ("collection", &*change.collection, MAX_NAME_BYTES),
                ("key", &*change.key, MAX_KEY_BYTES),
                ("group", group.unwrap_or_default(), MAX_NAME_BYTES),
            ] {
                let length = name.len();
                if length > most {
                    let message =
                        format!("a {what} has {length} bytes: at most {most} are allowed");
                    return Err(StoreError::failed(message));
                }
            }
            if !seen.insert((&change.collection, &change.key)) {
                return Err(StoreError::failed("two changes of the same record in one call"));
            }
        }
        Ok(())
    }
}

/// Maximum length of a record's key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// Maximum length of the name of a collection or a group, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// An error of a store. Its message is for the log, not for clients.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database, file or connection failed.
    #[error("the store failed: {0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// This version cannot read the stored data.
    #[error("{0}")]
    Unreadable(String),
}

impl StoreError {
    /// Wraps an error of another library.
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }

    /// Returns the correlation id of the outage under which this error was logged, or `None` if it was not logged.
    #[doc(hidden)]
    pub fn outage(&self) -> Option<&str> {
        self.logged().map(|logged| logged.outage.as_str())
    }

    /// Returns the cause with its sources in one line, without the common prefix of all errors of stores.
    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Failed(cause) => chain(&**cause),
            Self::Unreadable(cause) => cause.clone(),
        }
    }

    /// Returns `true` if this version cannot read the stored data. Another attempt would fail as well.
    pub(crate) fn is_unreadable(&self) -> bool {
        let error = self.logged().map_or(self, |logged| &logged.source);
        matches!(error, Self::Unreadable(_))
    }

    fn logged(&self) -> Option<&LoggedError> {
        match self {
            Self::Failed(cause) => cause.downcast_ref(),
            Self::Unreadable(_) => None,
        }
    }
}

#[diagnostic::do_not_recommend]
impl crate::table::IntoOperationError for StoreError {
    fn into_operation_error(self) -> crate::OperationError {
        operation_error(Arc::new(self))
    }
}

/// Converts an error of a store. All errors of one outage get the correlation id under which the outage was logged.
pub(crate) fn operation_error(cause: Arc<StoreError>) -> crate::OperationError {
    let Some(outage) = cause.outage() else { return crate::OperationError::internal(cause) };
    let message = format!(
        "Internal error: 'the adapter cannot use its store now; its log has the cause under {outage}'. \
         Make the call again later"
    );
    crate::OperationError::logged(outage, message).with_cause(cause)
}
