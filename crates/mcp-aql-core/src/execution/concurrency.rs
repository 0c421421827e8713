//! Runs one admitted call with the declared concurrency, time limit, cancellation and panic handling.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Either;
use mcp_aql_protocol::{ErrorCode, SemanticCategory};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit};

use super::execution_slot::LimitReached;
use crate::error::OperationError;
use crate::operation::{Context, Outcome};
use crate::util::{BoxFuture, erased};

/// Maximum number of calls that wait for their turn. Each of them holds its arguments in memory.
const MAX_WAITING_CALLS: usize = 1_024;

/// Determines which calls may run at the same time. Introspection publishes it as `_protocol.concurrency`, and the
/// adapter enforces it.
///
/// ```
/// use mcp_aql::{Adapter, Concurrency};
///
/// let builder = Adapter::builder("tasks").concurrency(Concurrency::ReadConcurrent);
/// ```
///
/// Source: MCP-AQL §9.3.1 (REQ-CON-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// Calls run one after the other.
    Serialized,
    /// READ operations run concurrently. Every other operation runs alone.
    ReadConcurrent,
    /// All operations run concurrently. Choose this if your operations synchronize access to their own data.
    #[default]
    FullyConcurrent,
    /// All operations run concurrently. Choose this if your operations lock the resources they change.
    ResourceLocked,
}

impl Concurrency {
    /// Returns the name used in `_protocol.concurrency`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Serialized => "serialized",
            Self::ReadConcurrent => "read-concurrent",
            Self::FullyConcurrent => "fully-concurrent",
            Self::ResourceLocked => "resource-locked",
        }
    }
}

/// Admits calls according to the adapter's concurrency and its limit on concurrent calls.
pub(crate) struct ConcurrencyLimit {
    concurrency: Concurrency,
    alone: RwLock<()>,
    slots: Option<Semaphore>,
    /// Has a permit for each further call that may wait for its turn.
    waiting: Semaphore,
    time_limit: Option<Duration>,
}

/// The turn of a call. It is held while the operation runs.
///
/// The guards are guards of tokio, so holding them across `.await` is correct.
struct Turn<'a> {
    _slot: Option<SemaphorePermit<'a>>,
    _shared: Option<RwLockReadGuard<'a, ()>>,
    _alone: Option<RwLockWriteGuard<'a, ()>>,
}

impl ConcurrencyLimit {
    pub(crate) fn new(
        concurrency: Concurrency,
        slots: Option<usize>,
        time_limit: Option<Duration>,
    ) -> Self {
        Self {
            concurrency,
            alone: RwLock::new(()),
            slots: slots.map(|slots| Semaphore::new(slots.min(Semaphore::MAX_PERMITS))),
            waiting: Semaphore::new(MAX_WAITING_CALLS),
            time_limit,
        }
    }

    /// Runs a call as soon as it may run concurrently with the others. A call that need not wait starts before the
    /// returned future is polled.
    pub(crate) fn run_in_turn<'a>(
        &'a self,
        category: SemanticCategory,
        timeout_seconds: Option<u32>,
        context: &'a Context,
        start: impl FnOnce() -> BoxFuture<'a, Outcome> + Send + 'a,
    ) -> impl Future<Output = Outcome> + Send + 'a {
        if self.is_open() && timeout_seconds.is_none() {
            let started = caught(|| match context.is_cancelled() {
                true => erased(async { Err(given_up()) }),
                false => start(),
            });
            return Either::Left(run_until_cancelled(category, context, started));
        }
        // Boxed to keep the future of a call without a wait small.
        let limit = self.time_limit(timeout_seconds);
        Either::Right(erased(self.wait_and_run(category, limit, context, start)))
    }

    /// Returns the time limit of an operation: its own, or else the limit of the adapter.
    pub(crate) fn time_limit(&self, timeout_seconds: Option<u32>) -> Option<Duration> {
        let own = timeout_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        own.or(self.time_limit)
    }

    async fn wait_and_run<'a>(
        &self,
        category: SemanticCategory,
        limit: Option<Duration>,
        context: &Context,
        start: impl FnOnce() -> BoxFuture<'a, Outcome>,
    ) -> Outcome {
        let reads = category == SemanticCategory::Read;
        let _turn = tokio::select! {
            biased;
            turn = self.turn(reads, context) => turn?,
            () = context.cancelled() => return Err(given_up()),
        };
        // A call that need not wait has not looked at its cancellation yet.
        if context.is_cancelled() {
            return Err(given_up());
        }
        run_until_cancelled(category, context, within(limit, reads, caught(start))).await
    }

    /// Waits until a call may run. Nothing of it has run before, so any call can be canceled while it waits.
    async fn turn(&self, reads: bool, context: &Context) -> Result<Turn<'_>, OperationError> {
        // Executions have their own limit, which counts the waiting ones.
        let waiting = match context.is_execution() {
            true => None,
            false => Some(self.waiting.try_acquire().map_err(|_| queue_is_full())?),
        };
        let slot = match &self.slots {
            Some(slots) => slots.acquire().await.ok(),
            None => None,
        };
        let (shared, alone) = match self.concurrency {
            Concurrency::ReadConcurrent if reads => (Some(self.alone.read().await), None),
            Concurrency::Serialized | Concurrency::ReadConcurrent => {
                (None, Some(self.alone.write().await))
            }
            Concurrency::FullyConcurrent | Concurrency::ResourceLocked => (None, None),
        };
        drop(waiting);
        Ok(Turn { _slot: slot, _shared: shared, _alone: alone })
    }

    /// Returns an error if no further call may wait for its turn. Call it before the gates consume anything for a call.
    pub(crate) fn check_queue(&self) -> Result<(), OperationError> {
        match self.waiting.available_permits() {
            0 => Err(queue_is_full()),
            _ => Ok(()),
        }
    }

    /// Returns `true` if no call ever waits for another one, and the adapter sets no time limit.
    pub(crate) fn is_open(&self) -> bool {
        let free =
            matches!(self.concurrency, Concurrency::FullyConcurrent | Concurrency::ResourceLocked);
        free && self.slots.is_none() && self.time_limit.is_none()
    }
}

fn queue_is_full() -> OperationError {
    LimitReached::Waiting(MAX_WAITING_CALLS).error()
}

/// Awaits a call. Cancellation ends only READ operations.
async fn run_until_cancelled(
    category: SemanticCategory,
    context: &Context,
    work: impl Future<Output = Outcome>,
) -> Outcome {
    if category != SemanticCategory::Read {
        // A partial change is worse than a complete change without a waiting caller. Cancellation therefore never drops
        // an operation that writes. Such an operation can observe `Context::cancelled`, and only a time limit drops it.
        return work.await.map_err(OperationError::after_changes);
    }
    tokio::select! {
        biased;
        outcome = work => outcome,
        () = context.cancelled() => Err(given_up()),
    }
}

/// Awaits a function of the author, and drops it at its time limit.
pub(crate) async fn within<T>(
    limit: Option<Duration>,
    reads: bool,
    work: impl Future<Output = Result<T, OperationError>>,
) -> Result<T, OperationError> {
    match limit {
        Some(limit) => {
            tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(timed_out(limit, reads)))
        }
        None => work.await,
    }
}

/// Returns the error of a call stopped at its time limit.
fn timed_out(limit: Duration, reads: bool) -> OperationError {
    let seconds = limit.as_secs_f64();
    let next_step = match reads {
        true => "ask for less, or try again later",
        false => "its changes so far may remain, so read the state before you try again",
    };
    OperationError::internal("the time limit has passed")
        .with_message(format!(
            "Internal error: 'the operation exceeded its time limit of {seconds} s and was stopped; {next_step}'"
        ))
        .with_detail("timeout_seconds", seconds)
}

/// Returns the error of a canceled call without effects: a READ, or a call that had not started. It has no correlation
/// id, because there is no cause in the log.
pub(crate) fn given_up() -> OperationError {
    let message = "Internal error: 'the call was cancelled before it ended: its caller cancelled it, or its session or \
                   the server has ended'. It has changed nothing";
    OperationError::new(ErrorCode::InternalError, message)
}

/// Starts a function of the author, and converts a panic into `INTERNAL_ERROR`, so that the session continues. The call
/// is started outside of the returned future, to keep the future small.
pub(crate) fn caught<'a, F, T: 'a>(
    start: F,
) -> impl Future<Output = Result<T, OperationError>> + use<'a, F, T>
where
    F: FnOnce() -> BoxFuture<'a, Result<T, OperationError>>,
{
    let started = catch_unwind(AssertUnwindSafe(start));
    async {
        let outcome = match started {
            Ok(work) => AssertUnwindSafe(work).catch_unwind().await,
            Err(panic) => Err(panic),
        };
        outcome.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }
}

fn panicked(panic: &(dyn Any + Send)) -> OperationError {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    OperationError::internal(format!("panicked: {message}"))
}
