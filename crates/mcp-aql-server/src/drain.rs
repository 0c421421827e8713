//! The drain of a server that stops: running calls finish, and no new ones start.

use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{BoxFuture, OperationError, Session};
use mcp_aql_protocol::{ErrorCode, SemanticCategory};
use tokio::sync::Notify;

/// The seconds after which a client may repeat a request that was refused for now.
pub(super) const RETRY_AFTER_SECONDS: u64 = 10;

/// When a server stops. Every future without a value converts into it.
///
/// From then on the server starts no new calls. It finishes those that run, for at most
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
    /// Completes when the server begins to stop.
    pub(super) begins: BoxFuture<'static, ()>,
    /// Completes when the server no longer waits for running calls. It is polled after `begins` has completed.
    pub(super) at_once: BoxFuture<'static, ()>,
    /// Called when the store was checked and clients are accepted.
    pub(super) serving: Box<dyn FnOnce() + Send>,
}

impl Shutdown {
    /// Begins the drain when this future completes.
    pub fn when(begins: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { begins: erased(begins), at_once: erased(pending()), serving: Box::new(|| {}) }
    }

    /// Ends the drain early when this future completes. It is polled from the beginning of the drain on.
    #[must_use]
    pub fn at_once_when(self, at_once: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { at_once: erased(at_once), ..self }
    }

    /// Calls a function when the server serves its clients, and another one when it begins to stop.
    #[doc(hidden)]
    #[must_use]
    pub fn reporting(
        self,
        serving: impl FnOnce() + Send + 'static,
        stopping: impl FnOnce() + Send + 'static,
    ) -> Self {
        let begins = self.begins;
        let begins = async {
            begins.await;
            stopping();
        };
        Self { begins: erased(begins), serving: Box::new(serving), ..self }
    }

    /// A server that does not stop by itself.
    pub(super) fn never() -> Self {
        Self::when(pending())
    }
}

impl<F: Future<Output = ()> + Send + 'static> From<F> for Shutdown {
    fn from(begins: F) -> Self {
        Self::when(begins)
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shutdown").finish_non_exhaustive()
    }
}

/// The way in which the wait for running calls ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrainEnd {
    /// All calls have finished, and their replies are sent.
    Finished,
    /// The time is over.
    TimedOut,
    /// The wait was ended early.
    AtOnce,
}

/// Counts the running calls of a server, and refuses new ones while the server stops.
#[derive(Debug, Default)]
pub(super) struct Drain {
    /// The running calls, and the replies that are not sent yet.
    open: AtomicUsize,
    /// The running calls that may change something.
    changes: AtomicUsize,
    is_draining: AtomicBool,
    is_cut_off: AtomicBool,
    /// The calls that have finished since the beginning of the drain.
    finished: AtomicUsize,
    /// The calls that were refused.
    refused: AtomicUsize,
    /// The calls that outlived the drain.
    cut_off: AtomicUsize,
    /// Whether a task waits for the end of calls. Otherwise an end notifies nothing, which would take a lock.
    is_watched: AtomicBool,
    ended: Notify,
}

impl Drain {
    /// Returns whether the server stops, and refuses new calls.
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(SeqCst)
    }

    /// Starts a call, which may change something until it is [labelled](RunningCall::labelled).
    ///
    /// # Errors
    /// While the server stops.
    pub(super) fn start(self: &Arc<Self>) -> Result<RunningCall, OperationError> {
        // Counted first: either the drain sees the call, or the call sees the drain.
        self.open.fetch_add(1, SeqCst);
        if self.is_draining() {
            self.close();
            self.refused.fetch_add(1, SeqCst);
            return Err(shutting_down());
        }
        self.changes.fetch_add(1, SeqCst);
        Ok(RunningCall { drain: Arc::clone(self), label: CallLabel::default(), has_ended: false })
    }

    /// Keeps the drain from ending until the reply is sent, with which the returned value is dropped.
    #[cfg(feature = "http")]
    pub(super) fn hold(self: &Arc<Self>) -> OpenReply {
        self.open.fetch_add(1, SeqCst);
        OpenReply(Arc::clone(self))
    }

    /// Refuses all calls from now on. Returns the number of those that run.
    pub(super) fn begin(&self) -> usize {
        self.is_draining.store(true, SeqCst);
        self.open.load(SeqCst)
    }

    /// Waits until no call runs and all replies are sent, and then for the work that calls have started. A running call
    /// may still start some.
    pub(super) async fn finished(&self, background_work: impl Future<Output = ()>) {
        self.idle().await;
        background_work.await;
    }

    async fn idle(&self) {
        self.until(|drain| drain.open.load(SeqCst) == 0).await;
    }

    /// Waits until no call runs that may change something.
    pub(super) async fn changes_done(&self) {
        self.until(|drain| drain.changes.load(SeqCst) == 0).await;
    }

    async fn until(&self, is_reached: impl Fn(&Self) -> bool) {
        self.is_watched.store(true, SeqCst);
        loop {
            let mut ended = pin!(self.ended.notified());
            // No end after this point is missed.
            ended.as_mut().enable();
            if is_reached(self) {
                return;
            }
            ended.await;
        }
    }

    /// Ends the wait for running calls: each of them is logged when it ends or is dropped.
    pub(super) fn cut_off(&self) {
        self.is_cut_off.store(true, SeqCst);
    }

    /// Logs what became of the calls that ran at the beginning of the drain.
    pub(super) fn report(&self) {
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

    /// Counts one call less.
    fn lower(&self, counter: &AtomicUsize) {
        counter.fetch_sub(1, SeqCst);
        if self.is_watched.load(SeqCst) {
            self.ended.notify_waiters();
        }
    }
}

/// The error of a call that arrives while the server stops.
pub(super) fn shutting_down() -> OperationError {
    let message = format!(
        "Internal error: 'the server is shutting down, and this call did not start'. Send it again in \
         {RETRY_AFTER_SECONDS} seconds"
    );
    OperationError::new(ErrorCode::InternalError, message)
        .with_detail("retry_after_seconds", RETRY_AFTER_SECONDS)
        .with_detail("operation_ran", false)
        .explained_by_the_log()
}

/// The description of a running call in the log.
#[derive(Debug, Default)]
pub(super) struct CallLabel {
    /// The name and the category of the operation; `None` for several operations or an unknown one.
    pub(super) operation: Option<(&'static str, SemanticCategory)>,
    pub(super) session: Option<Session>,
    pub(super) client_request_id: Option<String>,
}

impl CallLabel {
    fn may_change(&self) -> bool {
        self.operation.is_none_or(|(_, category)| category != SemanticCategory::Read)
    }
}

/// A running call. Dropping it ends the call.
#[derive(Debug)]
pub(super) struct RunningCall {
    drain: Arc<Drain>,
    label: CallLabel,
    has_ended: bool,
}

impl RunningCall {
    /// Describes the call, once its arguments are read.
    pub(super) fn labelled(mut self, label: CallLabel) -> Self {
        if !label.may_change() {
            self.drain.lower(&self.drain.changes);
        }
        self.label = label;
        self
    }

    /// Records that the call has an answer.
    pub(super) fn end(mut self, has_failed: bool) {
        self.has_ended = true;
        self.drain.finished.fetch_add(usize::from(self.drain.is_draining()), SeqCst);
        if self.drain.is_cut_off.load(SeqCst) {
            self.log(if has_failed { "failed" } else { "done" });
        }
    }

    /// Logs that the call outlived the drain, with its outcome.
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

/// A reply that is not sent yet. Dropping it means that it is sent, or that its client is gone.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(super) struct OpenReply(Arc<Drain>);

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
        let call = drain.start().unwrap();
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
        let call = drain.start().unwrap().labelled(label(SemanticCategory::Execute));
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
        let error = drain.start().unwrap_err();
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
        let read = drain.start().unwrap();
        let mut done = pin!(drain.changes_done());
        assert!(poll_once(&mut done).await.is_pending(), "its arguments are not read");
        let read = read.labelled(label(SemanticCategory::Read));
        done.await;
        // A batch may change something.
        let batch = drain.start().unwrap().labelled(CallLabel::default());
        let mut done = pin!(drain.changes_done());
        assert!(poll_once(&mut done).await.is_pending());
        drop(batch);
        done.await;
        drop(read);
        drain.idle().await;
    }
}
