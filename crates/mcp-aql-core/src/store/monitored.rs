//! Monitors the accesses to a store, and logs outages.
//!
//! An outage is logged when it begins, at intervals, and when it ends, together with the number of failed accesses.
//! Logging each failed access would flood the log.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::{Change, StateRecord, StateStore, StoreError};
use crate::util::BoxFuture;
use crate::util::lock;

/// Minimum time between two log lines about one outage.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// Minimum time between two log lines about different causes.
const CAUSE_INTERVAL: Duration = Duration::from_secs(1);
/// Time without failures after which an outage is over. A store that fails intermittently therefore has only one
/// outage.
const RECOVERY_TIME: Duration = Duration::from_secs(1);

/// A store whose outages are logged.
pub(crate) struct MonitoredStore {
    inner: Arc<dyn StateStore>,
    outages: Outages,
}

/// The current outage of a store.
#[derive(Default)]
struct Outages {
    /// If `true`, there is an outage. A successful access usually only reads this flag, without taking the lock.
    fails: AtomicBool,
    state: Mutex<OutageState>,
}

#[derive(Default)]
struct OutageState {
    current: Option<Outage>,
    last_failure: Option<Instant>,
}

/// A time during which accesses fail.
struct Outage {
    /// Correlation id of all errors caused by the outage.
    id: String,
    since: Instant,
    failed: u64,
    /// If `true`, writes have failed. Reads can still succeed, for example when the disk is full.
    fails_writes: bool,
    /// The cause logged last. `logged` is the time of that log line.
    cause: String,
    logged: Instant,
}

/// The kinds of access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessKind {
    Read,
    Write,
}

/// An error whose cause was logged under the id of an outage.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub(super) struct LoggedError {
    pub(super) outage: String,
    pub(super) source: StoreError,
}

impl MonitoredStore {
    pub(crate) fn new(inner: Arc<dyn StateStore>) -> Self {
        Self { inner, outages: Outages::default() }
    }

    /// Returns the store itself. Its errors are not logged.
    pub(crate) fn unmonitored(&self) -> &dyn StateStore {
        &*self.inner
    }

    /// Returns `true` if an access has failed within this time.
    pub(crate) fn has_failed_within(&self, time: Duration) -> bool {
        let last = lock(&self.outages.state).last_failure;
        last.is_some_and(|at| at.elapsed() < time)
    }

    async fn watched<T>(
        &self,
        kind: AccessKind,
        access: BoxFuture<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match access.await {
            Ok(value) => {
                self.outages.record_success(kind);
                Ok(value)
            }
            Err(error) => Err(self.outages.record_failure(kind, error)),
        }
    }
}

impl Outages {
    fn record_success(&self, kind: AccessKind) {
        if !self.fails.load(Ordering::Relaxed) {
            return;
        }
        let mut state = lock(&self.state);
        let recovered = state.last_failure.is_none_or(|at| at.elapsed() >= RECOVERY_TIME);
        let is_over = |outage: &Outage| kind == AccessKind::Write || !outage.fails_writes;
        if !recovered || !state.current.as_ref().is_some_and(is_over) {
            return;
        }
        let Some(outage) = state.current.take() else { return };
        self.fails.store(false, Ordering::Relaxed);
        drop(state);
        let Outage { id, since, failed, .. } = outage;
        let seconds = since.elapsed().as_secs_f64();
        tracing::warn!(correlation_id = id, failed, seconds, "the store works again");
    }

    /// Counts a failure. Returns the error with the id of its outage.
    fn record_failure(&self, kind: AccessKind, source: StoreError) -> StoreError {
        let now = Instant::now();
        let cause = chain(&source);
        let mut state = lock(&self.state);
        state.last_failure = Some(now);
        self.fails.store(true, Ordering::Relaxed);
        let is_new = state.current.is_none();
        let outage = state.current.get_or_insert_with(|| Outage::new(now, &cause));
        outage.failed += 1;
        outage.fails_writes |= kind == AccessKind::Write;
        let id = outage.id.clone();
        let due = !is_new && outage.is_report_due(now, &cause);
        if due {
            outage.cause.clone_from(&cause);
            outage.logged = now;
        }
        let failed = outage.failed;
        drop(state);
        if is_new {
            tracing::error!(
                correlation_id = id,
                cause,
                "the store fails; calls that need it fail until it works again"
            );
        } else if due {
            tracing::error!(correlation_id = id, cause, failed, "the store still fails");
        }
        StoreError::failed(LoggedError { outage: id, source })
    }
}

impl Outage {
    fn new(now: Instant, cause: &str) -> Self {
        let id = crate::vocab::new_id("e");
        Self {
            id,
            since: now,
            failed: 0,
            fails_writes: false,
            cause: cause.to_owned(),
            logged: now,
        }
    }

    fn is_report_due(&self, now: Instant, cause: &str) -> bool {
        let interval = if self.cause == cause { REPORT_INTERVAL } else { CAUSE_INTERVAL };
        now.duration_since(self.logged) >= interval
    }
}

/// Formats an error and its sources for the log.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        // Many messages include the message of their source.
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

impl StateStore for MonitoredStore {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.watched(AccessKind::Write, self.inner.prepare()))
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        Box::pin(self.watched(AccessKind::Read, self.inner.get(collection, key)))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        Box::pin(self.watched(AccessKind::Read, self.inner.list(collection, group, after, limit)))
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        // An invalid call is a mistake of the caller, not an outage.
        if let Err(error) = Change::check(&changes) {
            return Box::pin(std::future::ready(Err(error)));
        }
        Box::pin(self.watched(AccessKind::Write, self.inner.write(changes)))
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.watched(AccessKind::Write, self.inner.purge(now)))
    }

    fn is_fleeting(&self) -> bool {
        self.inner.is_fleeting()
    }
}
