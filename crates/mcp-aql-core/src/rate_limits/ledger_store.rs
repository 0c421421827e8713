//! Reads and changes the ledger in the store with optimistic concurrency.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;

use super::counter::Micros;
use super::ledger::Ledger;
use crate::error::OperationError;
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, StateRecord, StoreError, operation_error};
use crate::util::BoxFuture;
use crate::util::lock;

/// Collection of the store that holds the ledgers, with one record for each adapter.
pub(super) const COLLECTION: &str = "limits";
/// Maximum number of attempts to write. An attempt fails only if another process has written in the meantime, so the
/// processes together always make progress.
const MAX_ATTEMPTS: usize = 1_000;

/// The result of a change to the ledger, and whether the ledger must be written.
pub(super) enum LedgerUpdate<T> {
    /// The ledger is unchanged and need not be written.
    Keep(T),
    /// The ledger has changed.
    Write(T),
}

/// The ledger of one adapter in the store.
///
/// A change applies to the stored version, and is repeated if another process has written in the meantime. Changes of
/// the same process would conflict with each other. Those that arrive during a write are therefore queued, and
/// written together afterwards.
///
/// A write is a shared future, polled by all callers that wait for it. If one of them is canceled, a task completes
/// the write. No lock is held while the store works, and no caller waits for a future that no task polls.
pub(super) struct LedgerStore {
    record: Arc<LedgerRecord>,
    queue: Mutex<WriteQueue>,
}

/// The part of the state that a write in progress needs. It does not include the queue, so that the queue can be
/// dropped during a write.
struct LedgerRecord {
    services: Arc<Services>,
    cache: Mutex<CachedLedger>,
}

/// The ledger as last read from the store. It saves parsing an unchanged record again.
#[derive(Default)]
struct CachedLedger {
    /// JSON of the record. Empty if it is unknown.
    text: String,
    ledger: Ledger,
}

#[derive(Default)]
struct WriteQueue {
    queued: Vec<Box<dyn PendingChange>>,
    current_write: Option<Shared<BoxFuture<'static, ()>>>,
}

/// A queued change.
trait PendingChange: Send {
    /// Applies the change to the current ledger. Called once per attempt. Returns `true` if the ledger has changed.
    fn make(&mut self, ledger: &mut Ledger, now: Micros) -> bool;

    /// Reports the outcome of the write to the caller.
    fn answer(self: Box<Self>, failure: Option<&Arc<StoreError>>);
}

struct QueuedChange<T, F> {
    change: F,
    result: Option<T>,
    answer: oneshot::Sender<Result<T, OperationError>>,
    /// If `true`, the change is made even if its caller was canceled.
    even_if_cancelled: bool,
}

impl<T, F> PendingChange for QueuedChange<T, F>
where
    T: Send,
    F: FnMut(&mut Ledger, Micros) -> LedgerUpdate<T> + Send,
{
    fn make(&mut self, ledger: &mut Ledger, now: Micros) -> bool {
        if self.answer.is_closed() && !self.even_if_cancelled {
            return false;
        }
        let (result, changed) = match (self.change)(ledger, now) {
            LedgerUpdate::Keep(result) => (result, false),
            LedgerUpdate::Write(result) => (result, true),
        };
        self.result = Some(result);
        changed
    }

    fn answer(self: Box<Self>, failure: Option<&Arc<StoreError>>) {
        let outcome = match (failure, self.result) {
            (Some(failure), _) => Err(operation_error(Arc::clone(failure))),
            (None, Some(result)) => Ok(result),
            (None, None) => return,
        };
        // Sending fails if the caller was canceled. The result is not needed then.
        let _ = self.answer.send(outcome);
    }
}

impl LedgerStore {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self {
            record: Arc::new(LedgerRecord { services, cache: Mutex::default() }),
            queue: Mutex::default(),
        }
    }

    /// Reads the ledger.
    pub(super) async fn read<T>(
        &self,
        read: impl FnOnce(&Ledger, Micros) -> T,
    ) -> Result<T, OperationError> {
        let record = &*self.record;
        let found = record.services.store_for_call().await?.get(COLLECTION, record.key()).await?;
        let (mut cached, _) = record.load(found);
        let now = cached.ledger.time(record.now());
        let value = read(&cached.ledger, now);
        *lock(&record.cache) = cached;
        Ok(value)
    }

    /// Changes the ledger, unless the caller is canceled before the write starts.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl FnMut(&mut Ledger, Micros) -> LedgerUpdate<T> + Send + 'static,
    ) -> Result<T, OperationError> {
        self.enqueue(change, false).await
    }

    /// Changes the ledger even if the caller is canceled.
    pub(super) async fn change_even_if_cancelled<T: Send + 'static>(
        &self,
        change: impl FnMut(&mut Ledger, Micros) -> LedgerUpdate<T> + Send + 'static,
    ) -> Result<T, OperationError> {
        self.enqueue(change, true).await
    }

    async fn enqueue<T: Send + 'static>(
        &self,
        change: impl FnMut(&mut Ledger, Micros) -> LedgerUpdate<T> + Send + 'static,
        even_if_cancelled: bool,
    ) -> Result<T, OperationError> {
        let (answer, mut answered) = oneshot::channel();
        lock(&self.queue).queued.push(Box::new(QueuedChange {
            change,
            result: None,
            answer,
            even_if_cancelled,
        }));
        let mut guard = CancelGuard(Some(self));
        let outcome = loop {
            match answered.try_recv() {
                Ok(outcome) => break outcome,
                Err(oneshot::error::TryRecvError::Closed) => {
                    break Err(OperationError::internal("a store operation panicked"));
                }
                Err(oneshot::error::TryRecvError::Empty) => self.current_or_next_write().await,
            }
        };
        guard.0 = None;
        outcome
    }

    /// Returns the current write, or starts one with all queued changes.
    fn current_or_next_write(&self) -> Shared<BoxFuture<'static, ()>> {
        let mut queue = lock(&self.queue);
        if let Some(current) = queue.current_write.as_ref().filter(|write| write.peek().is_none()) {
            return current.clone();
        }
        let (record, changes) = (Arc::clone(&self.record), std::mem::take(&mut queue.queued));
        // If a write panics, its callers receive an error, and the next write can start.
        let write = AssertUnwindSafe(record.write(changes)).catch_unwind().map(drop);
        let write = (Box::pin(write) as BoxFuture<'static, ()>).shared();
        queue.current_write = Some(write.clone());
        write
    }
}

/// Completes the current write if its caller is canceled. The caller may be the last one polling it, and an
/// unfinished transaction would block the store.
struct CancelGuard<'a>(Option<&'a LedgerStore>);

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        let Some(store) = self.0 else { return };
        let current = lock(&store.queue).current_write.clone();
        if let Some(write) = current.filter(|write| write.peek().is_none())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(write);
        }
    }
}

impl LedgerRecord {
    fn key(&self) -> &str {
        &self.services.audit.adapter
    }

    fn now(&self) -> Micros {
        self.services.time.now().timestamp_micros()
    }

    async fn write(self: Arc<Self>, mut changes: Vec<Box<dyn PendingChange>>) {
        let failure = self.try_write(&mut changes).await.err().map(Arc::new);
        for one in changes {
            one.answer(failure.as_ref());
        }
    }

    async fn try_write(&self, changes: &mut [Box<dyn PendingChange>]) -> Result<(), StoreError> {
        let store = self.services.store().await?;
        for _ in 0..MAX_ATTEMPTS {
            let (mut cached, expected) = self.load(store.get(COLLECTION, self.key()).await?);
            let now = cached.ledger.time(self.now());
            let mut changed = false;
            for one in changes.iter_mut() {
                changed |= one.make(&mut cached.ledger, now);
            }
            if changed {
                cached.ledger.remove_expired(now);
                cached.text = serde_json::to_string(&cached.ledger).map_err(StoreError::failed)?;
                let record = NewRecord::new(cached.text.as_str());
                let change = Change::put(COLLECTION, self.key(), expected, record);
                if !store.write(vec![change]).await? {
                    tokio::task::yield_now().await;
                    continue;
                }
            }
            *lock(&self.cache) = cached;
            return Ok(());
        }
        Err(StoreError::failed("too many conflicting changes to the counters"))
    }

    /// Updates the cached ledger from a record. Returns it together with the version that a change must expect. The
    /// cache is empty until the caller puts the ledger back.
    fn load(&self, found: Option<StateRecord>) -> (CachedLedger, Expected) {
        let mut cached = std::mem::take(&mut *lock(&self.cache));
        let Some(record) = found else { return (CachedLedger::default(), Expected::Absent) };
        if cached.text.is_empty() || cached.text != record.value {
            cached.ledger = Ledger::read(&record.value);
            cached.text = record.value;
        }
        (cached, Expected::Version(record.version))
    }
}
