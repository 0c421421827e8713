//! The executions that this process runs.

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
use crate::util::sync::lock;

/// The reason why an execution should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    Requested,
    SessionEnded,
    AdapterStopped,
}

impl StopReason {
    /// The reason as the audit log shows it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "asked for",
            Self::SessionEnded => "the session ended",
            Self::AdapterStopped => "the adapter stopped",
        }
    }
}

/// An execution that this process runs.
pub(crate) struct RunningExecution {
    pub(crate) id: String,
    /// The name of the operation.
    pub(crate) operation: String,
    pub(crate) ownership: Ownership,
    pub(crate) session: Option<Session>,
    /// The latest status and progress, for callers that wait in this process.
    pub(crate) updates: watch::Sender<StatusUpdate>,
    /// Cancelled when another process owns the record: the execution may neither continue nor write.
    pub(crate) fenced: CancellationToken,
    /// Cancelled when the execution has ended and its record is written.
    pub(crate) over: CancellationToken,
    /// When the lease was last renewed.
    renewed: Mutex<Instant>,
    stop: CancellationToken,
    reason: OnceLock<StopReason>,
    /// Whether the function was called, or the execution ended before.
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

    /// Returns `true` to the first caller only: either the function is called, or the execution ends before.
    pub(crate) fn claim_start(&self) -> bool {
        !self.start_claimed.swap(true, Ordering::AcqRel)
    }

    /// Requests the execution to stop. The first reason is kept.
    pub(crate) fn request_stop(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.stop.cancel();
    }

    /// The reason why the execution should stop, if it should.
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

    /// When the lease was last renewed.
    pub(crate) fn renewed(&self) -> MutexGuard<'_, Instant> {
        lock(&self.renewed)
    }
}

/// The executions that this process runs, by their ids.
#[derive(Default)]
pub(crate) struct RunningExecutions {
    inner: Mutex<RunningTasks>,
    /// Notified when an execution is removed.
    removed: Notify,
}

#[derive(Default)]
struct RunningTasks {
    running: HashMap<String, Arc<RunningExecution>>,
    /// Whether a task renews the leases.
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

    /// Returns whether a matching execution runs.
    pub(crate) fn any(&self, these: impl Fn(&RunningExecution) -> bool) -> bool {
        self.inner().running.values().any(|live| these(live))
    }

    /// Returns whether this process runs this attempt.
    pub(crate) fn runs_attempt(&self, id: &str, attempt: u32) -> bool {
        self.inner().running.get(id).is_some_and(|live| live.ownership.attempt == attempt)
    }

    /// Removes an execution that has ended.
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

    /// Returns whether no execution runs. If so, the task that renews leases ends.
    pub(crate) fn stop_renewal_if_idle(&self) -> bool {
        let mut inner = self.inner();
        let none = inner.running.is_empty();
        if none {
            inner.renewal_runs = false;
        }
        none
    }

    /// Records that the task that renews leases has ended, although executions may still run.
    pub(crate) fn mark_renewal_stopped(&self) {
        self.inner().renewal_runs = false;
    }

    /// Waits until no matching execution runs any more.
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
