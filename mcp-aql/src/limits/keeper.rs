//! The ledger in the store: looked into, and changed by comparison.

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

/// The collection of the store that holds the counters: a record for each adapter.
pub(super) const COLLECTION: &str = "limits";
/// How often a change is tried. Whenever one fails another process has made its own, so that somebody
/// always gets ahead.
const MOST_TRIES: usize = 1_000;

/// What comes of a look into the ledger.
pub(super) enum Step<T> {
    /// It stays as it is.
    Keep(T),
    /// It has changed.
    Write(T),
}

/// Keeps the ledger of one adapter.
///
/// A change is made to what the store has, and is made again when another process was faster. The changes
/// of this process would get in each other's way: those that come while one is written are made together,
/// with one write. That write is a future which all who wait for it drive, and a task when one of them gives
/// up. So nobody holds a lock while the store works, and nobody waits for a call that is no longer polled.
pub(super) struct Keeper {
    book: Arc<Book>,
    lane: Mutex<Lane>,
}

/// The record in the store. A write has it, and not the lane that it is in.
struct Book {
    services: Arc<Services>,
    seen: Mutex<Seen>,
}

/// The ledger as it was last seen in the store, so that it is only read anew when it has changed there.
#[derive(Default)]
struct Seen {
    /// The record's text; empty when it is not known.
    text: String,
    ledger: Ledger,
}

#[derive(Default)]
struct Lane {
    waiting: Vec<Box<dyn Asked>>,
    under_way: Option<Shared<BoxFuture<'static, ()>>>,
}

/// A change that somebody waits for.
trait Asked: Send {
    /// Makes it, each time to what the store has by then; tells whether anything has changed.
    fn make(&mut self, ledger: &mut Ledger, now: Micros) -> bool;

    /// It is in the store, or will never be.
    fn answer(self: Box<Self>, failure: Option<&Arc<StoreError>>);
}

struct Waiting<T, F> {
    step: F,
    made: Option<T>,
    answer: oneshot::Sender<Result<T, OperationError>>,
    /// It is to be made although nobody waits any more.
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
        // Whoever gave up does not want to know.
        let _ = self.answer.send(outcome);
    }
}

impl Keeper {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self { book: Arc::new(Book { services, seen: Mutex::default() }), lane: Mutex::default() }
    }

    /// Looks into the ledger without changing it.
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

    /// Changes the ledger, unless whoever wants it gives up before.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Ledger, Micros) -> Step<T> + Send + 'static,
    ) -> Result<T, OperationError> {
        self.made(step, false).await
    }

    /// Changes the ledger, whoever gives up.
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
                    break Err(OperationError::internal("the store has panicked"));
                }
                Err(oneshot::error::TryRecvError::Empty) => self.write_under_way().await,
            }
        };
        unpolled.0 = None;
        outcome
    }

    /// The write that is under way; where there is none, one of all changes that wait.
    fn write_under_way(&self) -> Shared<BoxFuture<'static, ()>> {
        let mut lane = lock(&self.lane);
        if let Some(under_way) = lane.under_way.as_ref().filter(|write| write.peek().is_none()) {
            return under_way.clone();
        }
        let (book, asked) = (Arc::clone(&self.book), std::mem::take(&mut lane.waiting));
        // Whoever waits for a write that panics is told, and the next one is not kept from it.
        let write = AssertUnwindSafe(book.write(asked)).catch_unwind().map(drop);
        let write = (Box::pin(write) as BoxFuture<'static, ()>).shared();
        lane.under_way = Some(write.clone());
        write
    }
}

/// Brings the write that is under way to its end when its caller gives up. It may be the last one who
/// drives it, and in the midst of a transaction it would keep everybody else from the store.
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
        Err(StoreError::failed("others change the counters all the time"))
    }

    /// Reads the record, if it is another one than before; tells what a change of it expects to find. It
    /// is nobody else's until it is put back.
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
