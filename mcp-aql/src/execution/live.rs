//! The executions that this process runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::payload::Progress;
use super::record::Hold;
use super::state::Status;
use crate::session::Session;
use crate::sync::lock;

/// The reason why an execution should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Asked,
    SessionEnded,
    AdapterStopped,
}

impl Why {
    /// The reason as the audit log shows it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked for",
            Self::SessionEnded => "the session ended",
            Self::AdapterStopped => "the adapter stopped",
        }
    }
}

/// An execution that this process runs.
pub(crate) struct Live {
    pub(crate) id: String,
    pub(crate) hold: Hold,
    pub(crate) session: Option<Session>,
    /// The latest status and progress, for callers that wait in this process.
    pub(crate) news: watch::Sender<News>,
    /// Cancelled when another process owns the record: the execution may neither continue nor write.
    pub(crate) fenced: CancellationToken,
    /// Cancelled when the execution has ended and its record is written.
    pub(crate) over: CancellationToken,
    /// When the lease was last renewed.
    renewed: Mutex<Instant>,
    stop: CancellationToken,
    why: OnceLock<Why>,
    /// Whether the function was called, or the execution ended before.
    decided: AtomicBool,
}

/// The status and progress of an execution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct News {
    pub(crate) status: Status,
    pub(crate) progress: Option<Progress>,
}

impl Live {
    pub(crate) fn new(id: String, hold: Hold, session: Option<Session>, status: Status) -> Self {
        Self {
            id,
            hold,
            session,
            news: watch::Sender::new(News { status, progress: None }),
            fenced: CancellationToken::new(),
            over: CancellationToken::new(),
            renewed: Mutex::new(Instant::now()),
            stop: CancellationToken::new(),
            why: OnceLock::new(),
            decided: AtomicBool::new(status != Status::Pending),
        }
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        self.news.borrow().progress.clone()
    }

    /// Returns `true` to the first caller only: either the function is called, or the execution ends before.
    pub(crate) fn decide(&self) -> bool {
        !self.decided.swap(true, Ordering::AcqRel)
    }

    /// Requests the execution to stop. The first reason is kept.
    pub(crate) fn ask(&self, why: Why) {
        let _ = self.why.set(why);
        self.stop.cancel();
    }

    /// The reason why the execution should stop, if it should.
    pub(crate) fn why(&self) -> Option<Why> {
        self.why.get().copied()
    }

    /// Waits until the execution should stop.
    pub(crate) async fn told_to_stop(&self, adapter: &CancellationToken) {
        let session = async {
            match &self.session {
                Some(session) => session.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = session => self.ask(Why::SessionEnded),
            () = adapter.cancelled() => self.ask(Why::AdapterStopped),
        }
    }

    /// When the lease was last renewed.
    pub(crate) fn renewed(&self) -> MutexGuard<'_, Instant> {
        lock(&self.renewed)
    }
}

/// The executions that this process runs, by their ids.
#[derive(Default)]
pub(crate) struct Lives {
    inner: Mutex<Inner>,
    /// Notified when an execution is removed.
    left: Notify,
}

#[derive(Default)]
struct Inner {
    running: HashMap<String, Arc<Live>>,
    /// Whether a task renews the leases.
    kept: bool,
}

impl Lives {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Adds an execution. Returns `true` if the caller must start the task that renews leases.
    pub(crate) fn add(&self, live: Arc<Live>) -> bool {
        let mut inner = self.inner();
        inner.running.insert(live.id.clone(), live);
        !std::mem::replace(&mut inner.kept, true)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Live>> {
        self.inner().running.get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.inner().running.values().cloned().collect()
    }

    /// Returns whether this process runs this attempt.
    pub(crate) fn runs(&self, id: &str, attempt: u32) -> bool {
        self.inner().running.get(id).is_some_and(|live| live.hold.attempt == attempt)
    }

    /// Removes an execution that has ended.
    pub(crate) fn remove(&self, live: &Live) {
        let mut inner = self.inner();
        // A retry may already be registered under the same id.
        if inner.running.get(&live.id).is_some_and(|other| other.hold == live.hold) {
            inner.running.remove(&live.id);
        }
        drop(inner);
        live.over.cancel();
        self.left.notify_waiters();
    }

    /// Returns whether no execution runs. If so, the task that renews leases ends.
    pub(crate) fn rest(&self) -> bool {
        let mut inner = self.inner();
        let none = inner.running.is_empty();
        if none {
            inner.kept = false;
        }
        none
    }

    /// Records that the task that renews leases has ended, although executions may still run.
    pub(crate) fn abandon(&self) {
        self.inner().kept = false;
    }

    /// Waits until no matching execution runs any more.
    pub(crate) async fn gone(&self, these: impl Fn(&Live) -> bool) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if !self.inner().running.values().any(|live| these(live)) {
                return;
            }
            left.await;
        }
    }
}
