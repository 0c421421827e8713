//! The context of an execution.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::error::warning::{Warning, Warnings};
use crate::util::future::BoxFuture;
use crate::util::sync::lock;

/// The execution of a long-running operation: its id, cancellation and progress.
///
/// An argument of this type is not a parameter. It requires `lifecycle(…)`.
#[derive(Clone)]
pub struct ExecutionContext(Arc<Inner>);

struct Inner {
    id: String,
    attempt: u32,
    cancellation: CancellationToken,
    progress: Arc<dyn ExecutionSink>,
    /// Whether the function has seen that it should stop.
    noticed: AtomicBool,
    /// The warnings, which become part of the execution's state because no caller waits for a reply.
    warnings: Mutex<Warnings>,
}

/// The operations on executions. Every adapter with an operation that has a lifecycle has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionCall {
    /// Returns one execution.
    Get,
    /// Lists executions.
    List,
    /// Cancels an execution.
    Cancel,
    /// Runs a failed execution again.
    Retry,
}

/// The progress of an execution (REQ-LIF-06).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Advance {
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// The receiver of an execution's progress.
pub(crate) trait ExecutionSink: Send + Sync + 'static {
    /// Stores and reports the progress.
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

    /// The number of the attempt: 1, and one more after each retry.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Whether the execution should stop. An execution that does not stop is ended after a grace period.
    ///
    /// If this returned true, the execution ends as `cancelled`, whatever the function returns. If the
    /// function never asked, its work is complete when it returns, and the execution ends as without a
    /// cancellation.
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

    /// Reports that `done` of `total` steps are complete.
    pub async fn progress(&self, done: f64, total: f64, message: impl Into<String>) {
        let message = Some(message.into()).filter(|message| !message.is_empty());
        self.advance(Advance { done: Some(done), total: Some(total), message }).await;
    }

    /// Reports the current activity, if there is no number for it.
    pub async fn status(&self, message: impl Into<String>) {
        self.advance(Advance { message: Some(message.into()), ..Advance::default() }).await;
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ExecutionContext({})", self.0.id)
    }
}
