//! The ledger in the store, read and changed with optimistic concurrency.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;

use super::counter::Micros;
use super::ledger::Ledger;
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, Record, StoreError};
use crate::sync::lock;

/// The collection of the store that holds the ledgers: one record for each adapter.
pub(super) const COLLECTION: &str = "limits";
/// The maximum number of attempts to write. An attempt fails only if another process has written, so the
/// processes together make progress.
const MOST_TRIES: usize = 1_000;

/// The outcome of a change to the ledger.
pub(super) enum Step<T> {
    /// The ledger is unchanged.
    Keep(T),
    /// The ledger has changed.
    Write(T),
}

/// The ledger of one adapter in the store.
///
/// A change applies to the stored version, and is repeated if another process has written in the meantime.
/// Changes of this process would conflict with each other, so changes that arrive during a write are queued
/// and written together. The write is a shared future that all waiting callers poll. If one of them is
/// cancelled, a task completes the write. No lock is held while the store works, and no caller waits for a
/// future that is not polled.
pub(super) struct Keeper {
    book: Arc<Book>,
    lane: Mutex<Lane>,
}

/// Shared state of the ledger's store record. In-flight writes hold this, not the queue, so that the queue
/// can be dropped.
struct Book {
    services: Arc<Services>,
    seen: Mutex<Seen>,
}

/// The ledger as last read from the store, which avoids parsing an unchanged record again.
#[derive(Default)]
struct Seen {
    /// The record's text; empty if it is unknown.
    text: String,
    ledger: Ledger,
}

#[derive(Default)]
struct Lane {
    waiting: Vec<Box<dyn Asked>>,
    under_way: Option<Shared<BoxFuture<'static, ()>>>,
}

/// A queued change.
trait Asked: Send {
    /// Applies the change to the current ledger, once per attempt. Returns whether the ledger has changed.
    fn make(&mut self, ledger: &mut Ledger, now: Micros) -> bool;

    /// Reports the outcome of the write to the caller.
    fn answer(self: Box<Self>, failure: Option<&Arc<StoreError>>);
}

struct Waiting<T, F> {
    step: F,
    made: Option<T>,
    answer: oneshot::Sender<Result<T, OperationError>>,
    /// Whether the change is made even if its caller was cancelled.
    lasting: bool,
}

impl<T, F> Asked for Waiting<T, F>
where
    T: Send,
    F: FnMut(&mut Ledger, Micros) -> Step<T> + Send,
{
    fn make(&mut self, ledger: &mut Ledger, now: Micros) -> bool {
        if self.answer.is_closed() && !self.lasting {
            return false;
        }
        let (made, changed) = match (self.step)(ledger, now) {
            Step::Keep(made) => (made, false),
            Step::Write(made) => (made, true),
        };
        self.made = Some(made);
        changed
    }

    fn answer(self: Box<Self>, failure: Option<&Arc<StoreError>>) {
        let outcome = match (failure, self.made) {
            (Some(failure), _) => Err(OperationError::internal(Arc::clone(failure))),
            (None, Some(made)) => Ok(made),
            (None, None) => return,
        };
        // Sending fails if the caller was cancelled.
        let _ = self.answer.send(outcome);
    }
}

impl Keeper {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self { book: Arc::new(Book { services, seen: Mutex::default() }), lane: Mutex::default() }
    }

    /// Reads the ledger.
    pub(super) async fn look<T>(
        &self,
        look: impl FnOnce(&Ledger, Micros) -> T,
    ) -> Result<T, OperationError> {
        let book = &*self.book;
        let found = book.services.store_for_call().await?.get(COLLECTION, book.key()).await?;
        let (mut seen, _) = book.take_up(found);
        let now = seen.ledger.time(book.now());
        let told = look(&seen.ledger, now);
        *lock(&book.seen) = seen;
        Ok(told)
    }

    /// Changes the ledger, unless the caller is cancelled before.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Ledger, Micros) -> Step<T> + Send + 'static,
    ) -> Result<T, OperationError> {
        self.made(step, false).await
    }

    /// Changes the ledger, even if the caller is cancelled.
    pub(super) async fn note<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Ledger, Micros) -> Step<T> + Send + 'static,
    ) -> Result<T, OperationError> {
        self.made(step, true).await
    }

    async fn made<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Ledger, Micros) -> Step<T> + Send + 'static,
        lasting: bool,
    ) -> Result<T, OperationError> {
        let (answer, mut answered) = oneshot::channel();
        lock(&self.lane).waiting.push(Box::new(Waiting { step, made: None, answer, lasting }));
        let mut unpolled = Unpolled(Some(self));
        let outcome = loop {
            match answered.try_recv() {
                Ok(outcome) => break outcome,
                Err(oneshot::error::TryRecvError::Closed) => {
                    break Err(OperationError::internal("a store operation panicked"));
                }
                Err(oneshot::error::TryRecvError::Empty) => self.write_under_way().await,
            }
        };
        unpolled.0 = None;
        outcome
    }

    /// Returns the current write, or starts one with all queued changes.
    fn write_under_way(&self) -> Shared<BoxFuture<'static, ()>> {
        let mut lane = lock(&self.lane);
        if let Some(under_way) = lane.under_way.as_ref().filter(|write| write.peek().is_none()) {
            return under_way.clone();
        }
        let (book, asked) = (Arc::clone(&self.book), std::mem::take(&mut lane.waiting));
        // If a write panics, its callers receive an error, and the next write can start.
        let write = AssertUnwindSafe(book.write(asked)).catch_unwind().map(drop);
        let write = (Box::pin(write) as BoxFuture<'static, ()>).shared();
        lane.under_way = Some(write.clone());
        write
    }
}

/// Completes the current write if its caller is cancelled. The caller may be the last one that polls it, and
/// an unfinished transaction would block the store.
struct Unpolled<'a>(Option<&'a Keeper>);

impl Drop for Unpolled<'_> {
    fn drop(&mut self) {
        let Some(keeper) = self.0 else { return };
        let under_way = lock(&keeper.lane).under_way.clone();
        if let Some(write) = under_way.filter(|write| write.peek().is_none())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(write);
        }
    }
}

impl Book {
    fn key(&self) -> &str {
        &self.services.audit.adapter
    }

    fn now(&self) -> Micros {
        self.services.time.now().timestamp_micros()
    }

    async fn write(self: Arc<Self>, mut asked: Vec<Box<dyn Asked>>) {
        let failure = self.written(&mut asked).await.err().map(Arc::new);
        for one in asked {
            one.answer(failure.as_ref());
        }
    }

    async fn written(&self, asked: &mut [Box<dyn Asked>]) -> Result<(), StoreError> {
        let store = self.services.store().await?;
        for _ in 0..MOST_TRIES {
            let (mut seen, expected) = self.take_up(store.get(COLLECTION, self.key()).await?);
            let now = seen.ledger.time(self.now());
            let mut changed = false;
            for one in asked.iter_mut() {
                changed |= one.make(&mut seen.ledger, now);
            }
            if changed {
                seen.ledger.tidy(now);
                seen.text = serde_json::to_string(&seen.ledger).map_err(StoreError::failed)?;
                let record = NewRecord::new(seen.text.as_str());
                let change = Change::put(COLLECTION, self.key(), expected, record);
                if !store.write(vec![change]).await? {
                    tokio::task::yield_now().await;
                    continue;
                }
            }
            *lock(&self.seen) = seen;
            return Ok(());
        }
        Err(StoreError::failed("too many conflicting changes to the counters"))
    }

    /// Updates the cached ledger from a record, and returns it with the expectation of a change. The cache is
    /// empty until the ledger is put back.
    fn take_up(&self, found: Option<Record>) -> (Seen, Expected) {
        let mut seen = std::mem::take(&mut *lock(&self.seen));
        let Some(record) = found else { return (Seen::default(), Expected::Absent) };
        if seen.text.is_empty() || seen.text != record.value {
            seen.ledger = Ledger::read(&record.value);
            seen.text = record.value;
        }
        (seen, Expected::Version(record.version))
    }
}
