//! The executions running in this process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::payload::Progress;
use super::record::{ExecutionRecord, Ownership};
use super::status::Status;
use crate::caller::session::Session;
use crate::util::lock;

/// Why an execution should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    Requested,
    SessionEnded,
    AdapterStopped,
}

impl StopReason {
    /// Returns the reason as shown in the audit log.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::SessionEnded => "the session ended",
            Self::AdapterStopped => "the adapter stopped",
        }
    }
}

/// An execution running in this process.
pub(crate) struct RunningExecution {
    pub(crate) id: String,
    /// Name of the operation.
    pub(crate) operation: String,
    pub(crate) ownership: Ownership,
    pub(crate) session: Option<Session>,
    /// Latest status and progress, for waiting callers in this process.
    pub(crate) updates: watch::Sender<StatusUpdate>,
    /// Canceled when another process owns the record. The execution may then neither continue nor write.
    pub(crate) fenced: CancellationToken,
    /// Canceled when the execution has ended and its record has been written.
    pub(crate) over: CancellationToken,
    /// Time of the last lease renewal.
    renewed: Mutex<Instant>,
    stop: CancellationToken,
    reason: OnceLock<StopReason>,
    /// Set when either the function is called or the execution ends before its start.
    start_claimed: AtomicBool,
}

/// The status and progress of an execution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatusUpdate {
    pub(crate) status: Status,
    pub(crate) progress: Option<Progress>,
}

impl RunningExecution {
    pub(crate) fn new(
        (id, record): (String, &ExecutionRecord),
        ownership: Ownership,
        session: Option<Session>,
    ) -> Self {
        let status = record.status;
        Self {
            id,
            operation: record.operation.clone(),
            ownership,
            session,
            updates: watch::Sender::new(StatusUpdate { status, progress: None }),
            fenced: CancellationToken::new(),
            over: CancellationToken::new(),
            renewed: Mutex::new(Instant::now()),
            stop: CancellationToken::new(),
            reason: OnceLock::new(),
            start_claimed: AtomicBool::new(status != Status::Pending),
        }
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        self.updates.borrow().progress.clone()
    }

    /// Claims the right to start the execution or to end it before its start. Returns `true` only to the first caller.
    pub(crate) fn claim_start(&self) -> bool {
        !self.start_claimed.swap(true, Ordering::AcqRel)
    }

    /// Asks the execution to stop. The first reason is kept.
    pub(crate) fn request_stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.stop.cancel();
    }

    /// Returns why the execution should stop, or `None` if it should continue.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        self.reason.get().copied()
    }

    /// Waits until the execution should stop.
    pub(crate) async fn stop_requested(&self, adapter: &CancellationToken) {
        let session = async {
            match &self.session {
                Some(session) => session.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = session => self.request_stop(StopReason::SessionEnded),
            () = adapter.cancelled() => self.request_stop(StopReason::AdapterStopped),
        }
    }

    /// Returns the time of the last lease renewal.
    pub(crate) fn renewed(&self) -> MutexGuard<'_, Instant> {
        lock(&self.renewed)
    }
}

/// The executions running in this process, by id.
#[derive(Default)]
pub(crate) struct RunningExecutions {
    inner: Mutex<RunningTasks>,
    /// Notified when an execution is removed.
    removed: Notify,
}

#[derive(Default)]
struct RunningTasks {
    running: HashMap<String, Arc<RunningExecution>>,
    /// If `true`, a task is renewing the leases.
    renewal_runs: bool,
}

impl RunningExecutions {
    fn inner(&self) -> MutexGuard<'_, RunningTasks> {
        lock(&self.inner)
    }

    /// Adds an execution. Returns `true` if the caller must start the task that renews leases.
    pub(crate) fn add(&self, live: Arc<RunningExecution>) -> bool {
        let mut inner = self.inner();
        inner.running.insert(live.id.clone(), live);
        !std::mem::replace(&mut inner.renewal_runs, true)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<RunningExecution>> {
        self.inner().running.get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<RunningExecution>> {
        self.inner().running.values().cloned().collect()
    }

    /// Returns `true` if a matching execution is running.
    pub(crate) fn any(&self, these: impl Fn(&RunningExecution) -> bool) -> bool {
        self.inner().running.values().any(|live| these(live))
    }

    /// Returns `true` if this process runs the given attempt.
    pub(crate) fn runs_attempt(&self, id: &str, attempt: u32) -> bool {
        self.inner().running.get(id).is_some_and(|live| live.ownership.attempt == attempt)
    }

    /// Removes an ended execution.
    pub(crate) fn remove(&self, live: &RunningExecution) {
        let mut inner = self.inner();
        // A retry may already be registered under the same id.
        if inner.running.get(&live.id).is_some_and(|other| other.ownership == live.ownership) {
            inner.running.remove(&live.id);
        }
        drop(inner);
        live.over.cancel();
        self.removed.notify_waiters();
    }

    /// Returns `true` if no execution is running. The task that renews leases must then end.
    pub(crate) fn stop_renewal_if_idle(&self) -> bool {
        let mut inner = self.inner();
        let none = inner.running.is_empty();
        if none {
            inner.renewal_runs = false;
        }
        none
    }

    /// Records that the task that renews leases has ended, although executions may still be running.
    pub(crate) fn mark_renewal_stopped(&self) {
        self.inner().renewal_runs = false;
    }

    /// Waits until no matching execution is running.
    pub(crate) async fn wait_until_gone(&self, these: impl Fn(&RunningExecution) -> bool) {
        loop {
            let removed = self.removed.notified();
            tokio::pin!(removed);
            removed.as_mut().enable();
            if !self.any(&these) {
                return;
            }
            removed.await;
        }
    }
}
