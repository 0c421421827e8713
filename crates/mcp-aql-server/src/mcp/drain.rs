//! Graceful shutdown: a stopping server finishes running calls ("drain") and rejects new ones.

use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{BoxFuture, OperationError, Session};
use mcp_aql_protocol::{ErrorCode, SemanticCategory};
use tokio::sync::Notify;

/// Number of seconds after which a client may repeat a call rejected during the drain.
pub(crate) const RETRY_AFTER_SECONDS: u64 = 10;

/// Determines when a server stops. Any future without an output value converts into it.
///
/// A stopping server rejects new calls and lets running ones finish, for at most
/// [`AdapterBuilder::drain_timeout`](mcp_aql_core::AdapterBuilder::drain_timeout).
///
/// ```no_run
/// use mcp_aql::prelude::*;
/// use mcp_aql::{HttpOptions, transport::{ServeHttp as _, Shutdown}};
/// use tokio::net::TcpListener;
///
/// # async fn example(adapter: Adapter, deployed: impl Future<Output = ()> + Send + 'static) -> mcp_aql::Result {
/// let listener = TcpListener::bind("127.0.0.1:8787").await?;
/// let impatient = tokio::time::sleep(std::time::Duration::from_secs(600));
/// let shutdown = Shutdown::when(deployed).at_once_when(impatient);
/// adapter.serve_listener(listener, HttpOptions::new(), shutdown).await
/// # }
/// ```
pub struct Shutdown {
    /// Completes when the server should stop.
    pub(crate) begin: BoxFuture<'static, ()>,
    /// Completes when the server should no longer wait for running calls. Polled once `begin` has completed.
    pub(crate) cut_off: BoxFuture<'static, ()>,
    /// Called once the store is checked and the server accepts clients.
    pub(crate) on_serving: Box<dyn FnOnce() + Send>,
}

impl Shutdown {
    /// Stops the server when this future completes.
    pub fn when(begin: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { begin: erased(begin), cut_off: erased(pending()), on_serving: Box::new(|| {}) }
    }

    /// Ends the wait for running calls when this future completes. The server polls it from the start of the drain.
    #[must_use]
    pub fn at_once_when(self, cut_off: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { cut_off: erased(cut_off), ..self }
    }

    /// Calls `serving` once the server accepts clients, and `stopping` when it starts to stop.
    #[doc(hidden)]
    #[must_use]
    pub fn reporting(
        self,
        serving: impl FnOnce() + Send + 'static,
        stopping: impl FnOnce() + Send + 'static,
    ) -> Self {
        let begin = self.begin;
        let begin = async {
            begin.await;
            stopping();
        };
        Self { begin: erased(begin), on_serving: Box::new(serving), ..self }
    }

    /// Returns a shutdown that never happens.
    pub(crate) fn never() -> Self {
        Self::when(pending())
    }
}

impl<F: Future<Output = ()> + Send + 'static> From<F> for Shutdown {
    fn from(begin: F) -> Self {
        Self::when(begin)
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shutdown").finish_non_exhaustive()
    }
}

/// The reason why the wait for running calls ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrainEnd {
    /// All calls have finished, and all replies were sent.
    Finished,
    /// The drain timeout has expired.
    TimedOut,
    /// [`Shutdown::at_once_when`] ended the wait.
    CutOff,
}

/// Counts the running calls of a server, and rejects new calls while the server stops.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    /// Number of running calls and unsent replies.
    open: AtomicUsize,
    /// Number of running calls with a possible effect on state.
    changes: AtomicUsize,
    is_draining: AtomicBool,
    is_cut_off: AtomicBool,
    /// Number of calls finished since the start of the drain.
    finished: AtomicUsize,
    /// Number of rejected calls.
    refused: AtomicUsize,
    /// Number of calls still running at the end of the drain.
    cut_off: AtomicUsize,
    /// If `true`, a task waits for calls to end. Otherwise the end of a call notifies nothing, because that takes a
    /// lock.
    is_watched: AtomicBool,
    ended: Notify,
}

impl Drain {
    /// Returns `true` if the server is stopping and rejects new calls.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(SeqCst)
    }

    /// Counts a call as running. It counts as a change until [`labeled`](RunningCall::labeled) says otherwise.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is stopping.
    pub(crate) fn count_call(self: &Arc<Self>) -> Result<RunningCall, OperationError> {
        // Increment before the check: either the drain counts the call, or the call sees the drain.
        self.open.fetch_add(1, SeqCst);
        if self.is_draining() {
            self.close();
            self.refused.fetch_add(1, SeqCst);
            return Err(shutting_down());
        }
        self.changes.fetch_add(1, SeqCst);
        Ok(RunningCall { drain: Arc::clone(self), label: CallLabel::default(), has_ended: false })
    }

    /// Keeps the drain from ending until the reply is sent. Drop the returned value together with the reply.
    #[cfg(feature = "http")]
    pub(crate) fn hold(self: &Arc<Self>) -> OpenReply {
        self.open.fetch_add(1, SeqCst);
        OpenReply(Arc::clone(self))
    }

    /// Rejects all calls from now on. Returns the number of running calls and unsent replies.
    pub(crate) fn begin(&self) -> usize {
        self.is_draining.store(true, SeqCst);
        self.open.load(SeqCst)
    }

    /// Waits until no call runs and all replies are sent, and then for background work. The order matters, because a
    /// running call can still start background work.
    pub(crate) async fn finished(&self, background_work: impl Future<Output = ()>) {
        self.idle().await;
        background_work.await;
    }

    async fn idle(&self) {
        self.until(|drain| drain.open.load(SeqCst) == 0).await;
    }

    /// Waits until no running call can change something.
    pub(crate) async fn changes_done(&self) {
        self.until(|drain| drain.changes.load(SeqCst) == 0).await;
    }

    async fn until(&self, is_reached: impl Fn(&Self) -> bool) {
        self.is_watched.store(true, SeqCst);
        loop {
            let mut ended = pin!(self.ended.notified());
            // Register before the check, so that no later notification is missed.
            ended.as_mut().enable();
            if is_reached(self) {
                return;
            }
            ended.await;
        }
    }

    /// Stops waiting for running calls. Each of them is logged when it ends or is dropped.
    pub(crate) fn cut_off(&self) {
        self.is_cut_off.store(true, SeqCst);
    }

    /// Logs how many of the calls have finished, were rejected, or were cut off.
    pub(crate) fn report(&self) {
        let count = |counter: &AtomicUsize| counter.load(SeqCst);
        let (finished, refused) = (count(&self.finished), count(&self.refused));
        let (cut_off, running) = (count(&self.cut_off), count(&self.open));
        if cut_off + running > 0 {
            tracing::warn!(finished, refused, cut_off, running, "stopped with unfinished calls");
        } else if self.is_cut_off.load(SeqCst) {
            tracing::warn!(finished, refused, "stopped with unfinished executions");
        } else if self.is_draining() {
            tracing::info!(finished, refused, "stopped: all running calls have finished");
        }
    }

    /// Ends a call or a reply.
    fn close(&self) {
        self.lower(&self.open);
    }

    /// Decrements a counter.
    fn lower(&self, counter: &AtomicUsize) {
        counter.fetch_sub(1, SeqCst);
        if self.is_watched.load(SeqCst) {
            self.ended.notify_waiters();
        }
    }
}

/// Returns the error for a call that arrives while the server is stopping.
pub(crate) fn shutting_down() -> OperationError {
    let message = format!(
        "Internal error: 'the server is shutting down, and this call did not start'. Send it again in \
         {RETRY_AFTER_SECONDS} seconds"
    );
    OperationError::new(ErrorCode::InternalError, message)
        .with_detail("retry_after_seconds", RETRY_AFTER_SECONDS)
        .with_detail("operation_ran", false)
        .explained_by_the_log()
}

/// Describes a running call in the log.
#[derive(Debug, Default)]
pub(crate) struct CallLabel {
    /// The name and the category of the operation. `None` for a batch or an unknown operation.
    pub(crate) operation: Option<(&'static str, SemanticCategory)>,
    pub(crate) session: Option<Session>,
    pub(crate) client_request_id: Option<String>,
}

impl CallLabel {
    fn may_change(&self) -> bool {
        self.operation.is_none_or(|(_, category)| category != SemanticCategory::Read)
    }
}

/// A running call. Dropping this value ends the call.
#[derive(Debug)]
pub(crate) struct RunningCall {
    drain: Arc<Drain>,
    label: CallLabel,
    has_ended: bool,
}

impl RunningCall {
    /// Adds the description of the call, once its arguments are read.
    pub(crate) fn labeled(mut self, label: CallLabel) -> Self {
        if !label.may_change() {
            self.drain.lower(&self.drain.changes);
        }
        self.label = label;
        self
    }

    /// Records that the call has an answer.
    pub(crate) fn end(mut self, has_failed: bool) {
        self.has_ended = true;
        self.drain.finished.fetch_add(usize::from(self.drain.is_draining()), SeqCst);
        if self.drain.is_cut_off.load(SeqCst) {
            self.log(if has_failed { "failed" } else { "done" });
        }
    }

    /// Logs the outcome of a call still running at the end of the drain.
    fn log(&self, outcome: &str) {
        self.drain.cut_off.fetch_add(1, SeqCst);
        let CallLabel { operation, session, client_request_id } = &self.label;
        tracing::warn!(
            operation = operation.map(|(name, _)| name),
            category = operation.map(|(_, category)| category.as_str()),
            session = session.as_ref().map(Session::id),
            client_request_id,
            outcome,
            "a call was cut off: it had not finished when the server ended"
        );
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if !self.has_ended && self.drain.is_cut_off.load(SeqCst) {
            self.log("dropped");
        }
        if self.label.may_change() {
            self.drain.changes.fetch_sub(1, SeqCst);
        }
        self.drain.close();
    }
}

/// An unsent reply. Drop it once the reply was sent or the client disconnected.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct OpenReply(Arc<Drain>);

#[cfg(feature = "http")]
impl Drop for OpenReply {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use mcp_aql_core::internal::util::poll_once;

    use super::*;

    fn label(category: SemanticCategory) -> CallLabel {
        CallLabel { operation: Some(("do_it", category)), ..CallLabel::default() }
    }

    #[cfg(feature = "http")]
    #[tokio::test]
    async fn a_drain_ends_with_the_last_call_and_reply() {
        let drain = Arc::new(Drain::default());
        let call = drain.count_call().unwrap();
        let reply = drain.hold();
        assert_eq!(drain.begin(), 2);
        let mut idle = pin!(drain.idle());
        assert!(poll_once(&mut idle).await.is_pending());
        call.end(false);
        assert!(poll_once(&mut idle).await.is_pending());
        drop(reply);
        idle.await;
        assert_eq!(drain.finished.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn work_that_a_running_call_starts_is_waited_for() {
        let drain = Arc::new(Drain::default());
        let call = drain.count_call().unwrap().labeled(label(SemanticCategory::Execute));
        drain.begin();
        let executions = AtomicUsize::new(0);
        let mut finished = pin!(drain.finished(async {
            assert_eq!(executions.load(SeqCst), 1);
        }));
        assert!(poll_once(&mut finished).await.is_pending());
        executions.fetch_add(1, SeqCst);
        call.end(false);
        finished.await;
    }

    #[tokio::test]
    async fn a_call_during_the_drain_is_refused() {
        let drain = Arc::new(Drain::default());
        drain.begin();
        let error = drain.count_call().unwrap_err();
        assert!(error.message().contains("shutting down"), "{error}");
        assert_eq!(error.details()["retry_after_seconds"], RETRY_AFTER_SECONDS);
        assert_eq!(error.details()["operation_ran"], false);
        assert_eq!(error.details().get("correlation_id"), None, "the log has no cause");
        drain.idle().await;
        assert_eq!(drain.refused.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn changes_are_waited_for_apart_from_reads() {
        let drain = Arc::new(Drain::default());
        let read = drain.count_call().unwrap();
        let mut done = pin!(drain.changes_done());
        assert!(poll_once(&mut done).await.is_pending(), "its arguments are not read");
        let read = read.labeled(label(SemanticCategory::Read));
        done.await;
        // A batch may change something, so it counts as a change.
        let batch = drain.count_call().unwrap().labeled(CallLabel::default());
        let mut done = pin!(drain.changes_done());
        assert!(poll_once(&mut done).await.is_pending());
        drop(batch);
        done.await;
        drop(read);
        drain.idle().await;
    }
}
