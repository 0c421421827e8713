use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::future::BoxFuture;
use crate::sync::lock;
use crate::warning::{Warning, Warnings};

/// What a long-running operation knows of its execution: its id, whether it should stop, and where
/// it tells how far it is.
///
/// As an argument of an operation with `lifecycle(…)` it is no parameter.
#[derive(Clone)]
pub struct ExecutionContext(Arc<Inner>);

struct Inner {
    id: String,
    attempt: u32,
    cancellation: CancellationToken,
    progress: Arc<dyn ExecutionSink>,
    /// The function has seen that it should stop.
    noticed: AtomicBool,
    /// What it warned of: nobody waits for its reply, and the execution's state tells.
    warnings: Mutex<Warnings>,
}

/// The operations that steer executions; every adapter that has any brings them along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecutionCall {
    Get,
    List,
    Cancel,
    Retry,
}

/// How far an execution is (REQ-LIF-06).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Advance {
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Where an execution's progress goes.
pub(crate) trait ExecutionSink: Send + Sync + 'static {
    fn advance(&self, advance: Advance) -> BoxFuture<'_, ()>;
}

impl ExecutionContext {
    pub(crate) fn new(
        id: String,
        attempt: u32,
        cancellation: CancellationToken,
        progress: Arc<dyn ExecutionSink>,
    ) -> Self {
        Self(Arc::new(Inner {
            id,
            attempt,
            cancellation,
            progress,
            noticed: AtomicBool::new(false),
            warnings: Mutex::default(),
        }))
    }

    /// The execution's id, as `get_execution` takes it.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// 1, and one more with each retry.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Whether the execution should stop. One that does not is ended after a grace period.
    ///
    /// A function that has been told so ends as `cancelled`, whatever it returns. One that has not
    /// asked has done all of its work when it returns, and ends as if nobody had wanted it to stop.
    pub fn is_cancelled(&self) -> bool {
        let cancelled = self.0.cancellation.is_cancelled();
        if cancelled {
            self.0.noticed.store(true, Ordering::Release);
        }
        cancelled
    }

    /// Waits until the execution should stop; see [`is_cancelled`](Self::is_cancelled).
    pub async fn cancelled(&self) {
        self.0.cancellation.cancelled().await;
        self.0.noticed.store(true, Ordering::Release);
    }

    /// Whether the function has seen that it should stop.
    pub(crate) fn has_noticed(&self) -> bool {
        self.0.noticed.load(Ordering::Acquire)
    }

    pub(crate) fn warn(&self, warning: Warning) {
        lock(&self.0.warnings).push(warning);
    }

    pub(crate) fn take_warnings(&self) -> Warnings {
        std::mem::take(&mut *lock(&self.0.warnings))
    }

    pub(crate) async fn advance(&self, advance: Advance) {
        self.0.progress.advance(advance).await;
    }

    /// Tells that `done` of `total` steps are behind us.
    pub async fn progress(&self, done: f64, total: f64, message: impl Into<String>) {
        let message = Some(message.into()).filter(|message| !message.is_empty());
        self.advance(Advance { done: Some(done), total: Some(total), message }).await;
    }

    /// Tells what is being done where no number could.
    pub async fn status(&self, message: impl Into<String>) {
        self.advance(Advance { message: Some(message.into()), ..Advance::default() }).await;
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ExecutionContext({})", self.0.id)
    }
}
