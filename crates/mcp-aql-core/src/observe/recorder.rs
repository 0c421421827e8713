//! The extension point for metrics enabled after an adapter was built.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::caller::session::Session;
use crate::observe::audit::{AuditEntry, AuditObserver, Confirmation};
use crate::observe::call_event::CallEvent;
use crate::store::{Change, StateRecord, StateStore, StoreError};
use crate::util::BoxFuture;

/// Receives measurements of an adapter. Implement it to export metrics. Without a recorder, nothing is measured for
/// it.
///
/// The methods must return quickly, because calls wait for them.
pub trait Recorder: Send + Sync + 'static {
    /// Called after each call, and at the end of each execution.
    fn call_ended(&self, event: &CallEvent<'_>);

    /// Called when an execution begins.
    fn execution_started(&self, operation: &'static str);

    /// Called for each step of a confirmation.
    fn confirmation(&self, confirmation: Confirmation);

    /// Called after each access to the store.
    fn store_accessed(&self, access: StoreAccess, duration: Duration, is_failed: bool);

    /// Called when a client opens a session.
    fn session_opened(&self, session: &Session);
}

/// The kinds of access to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreAccess {
    /// Reads one record.
    Get,
    /// Reads several records.
    List,
    /// Changes records.
    Write,
    /// Deletes expired records.
    Purge,
}

impl StoreAccess {
    /// All kinds of access.
    pub const ALL: [Self; 4] = [Self::Get, Self::List, Self::Write, Self::Purge];

    /// Returns the name of the access in lower case. Use it as a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Write => "write",
            Self::Purge => "purge",
        }
    }
}

/// Holds the recorder of an adapter. All parts of the adapter share it.
#[derive(Clone, Default)]
pub(crate) struct RecorderSlot(Arc<OnceLock<Arc<dyn Recorder>>>);

impl RecorderSlot {
    pub(crate) fn get(&self) -> Option<&dyn Recorder> {
        self.0.get().map(|recorder| &**recorder)
    }

    /// Sets the recorder. Returns `false` if there is one already.
    pub(crate) fn set(&self, recorder: Arc<dyn Recorder>) -> bool {
        self.0.set(recorder).is_ok()
    }
}

impl fmt::Debug for RecorderSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RecorderSlot").field(&self.0.get().is_some()).finish()
    }
}

impl AuditObserver for RecorderSlot {
    fn is_active(&self) -> bool {
        self.get().is_some()
    }

    fn observe(&self, entry: &AuditEntry<'_>) {
        if let Some((recorder, confirmation)) = self.get().zip(entry.confirmation) {
            recorder.confirmation(confirmation);
        }
    }
}

/// A store that reports its accesses to the recorder.
pub(crate) struct RecordedStore {
    store: Arc<dyn StateStore>,
    recorder: RecorderSlot,
}

impl RecordedStore {
    pub(crate) fn new(store: Arc<dyn StateStore>, recorder: RecorderSlot) -> Self {
        Self { store, recorder }
    }

    /// Measures an access. Without a recorder, the access is not wrapped.
    fn recorded<'a, T: Send + 'a>(
        &'a self,
        access: StoreAccess,
        work: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let Some(recorder) = self.recorder.get() else { return work };
        Box::pin(async move {
            let begun = Instant::now();
            let done = work.await;
            recorder.store_accessed(access, begun.elapsed(), done.is_err());
            done
        })
    }
}

impl StateStore for RecordedStore {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.prepare()
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        self.recorded(StoreAccess::Get, self.store.get(collection, key))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        self.recorded(StoreAccess::List, self.store.list(collection, group, after, limit))
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.recorded(StoreAccess::Write, self.store.write(changes))
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.recorded(StoreAccess::Purge, self.store.purge(now))
    }

    fn is_fleeting(&self) -> bool {
        self.store.is_fleeting()
    }
}
