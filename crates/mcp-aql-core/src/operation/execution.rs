//! The context of an execution, for the operation's function.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::error::warning::{Warning, Warnings};
use crate::util::BoxFuture;
use crate::util::lock;

/// The execution of a long-running operation. Use it to read the execution's id, to react to cancellation and to
/// report progress.
///
/// An argument of this type does not become a parameter. It requires `lifecycle(…)`.
#[derive(Clone)]
pub struct ExecutionContext(Arc<Inner>);

struct Inner {
    id: String,
    attempt: u32,
    cancellation: CancellationToken,
    progress: Arc<dyn ExecutionSink>,
    /// If `true`, the function has seen that it should stop.
    noticed: AtomicBool,
    /// Warnings. They become part of the execution's state, because no caller waits for a reply.
    warnings: Mutex<Warnings>,
}

/// The operations on executions. An adapter has them if one of its operations has a lifecycle.
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

/// Progress of an execution (REQ-LIF-06).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Advance {
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Receives the progress of an execution.
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

    /// Returns the execution's id, the parameter of `get_execution`.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the number of the attempt. It starts at 1 and is incremented by each retry.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Returns `true` if the execution should stop. Call it regularly in long loops: an execution that does not stop
    /// is aborted after a grace period.
    ///
    /// Once this has returned `true`, the execution ends as `cancelled`, regardless of the value that your function
    /// returns. If your function never asks, its work is complete when it returns, and the execution ends as if it
    /// had not been canceled.
    ///
    /// ```
    /// # use mcp_aql::ExecutionContext;
    /// fn index(execution: &ExecutionContext, files: &[String]) -> usize {
    ///     files.iter().take_while(|_| !execution.is_cancelled()).count()
    /// }
    /// ```
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

    /// Returns `true` if the function has seen that it should stop.
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

    /// Reports the current activity. Use it if you cannot express the progress as a number.
    pub async fn status(&self, message: impl Into<String>) {
        self.advance(Advance { message: Some(message.into()), ..Advance::default() }).await;
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ExecutionContext({})", self.0.id)
    }
}
