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

/// Why an execution should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Asked,
    SessionEnded,
    AdapterStopped,
}

impl Why {
    /// The audit log's word.
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
    /// How far it is, for those who wait here.
    pub(crate) news: watch::Sender<News>,
    /// Its record is another's by now: it may neither go on nor write.
    pub(crate) fenced: CancellationToken,
    /// It is over, and its record says so.
    pub(crate) over: CancellationToken,
    /// When its lease was last renewed.
    renewed: Mutex<Instant>,
    stop: CancellationToken,
    why: OnceLock<Why>,
    /// Its function was called, or never will be.
    decided: AtomicBool,
}

/// What there is to tell of an execution.
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

    /// Lets one of two happen: the function is called, or the execution ends before.
    pub(crate) fn decide(&self) -> bool {
        !self.decided.swap(true, Ordering::AcqRel)
    }

    /// Tells it to stop. The first reason counts.
    pub(crate) fn ask(&self, why: Why) {
        let _ = self.why.set(why);
        self.stop.cancel();
    }

    /// Why it should stop, if it should.
    pub(crate) fn why(&self) -> Option<Why> {
        self.why.get().copied()
    }

    /// Waits until it should stop.
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

    /// When its lease was last renewed.
    pub(crate) fn renewed(&self) -> MutexGuard<'_, Instant> {
        lock(&self.renewed)
    }
}

/// The executions that this process runs, by their ids.
#[derive(Default)]
pub(crate) struct Lives {
    inner: Mutex<Inner>,
    /// One of them is gone.
    left: Notify,
}

#[derive(Default)]
struct Inner {
    running: HashMap<String, Arc<Live>>,
    /// Somebody renews their leases.
    kept: bool,
}

impl Lives {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Adds one. True when somebody has to be found who renews its lease.
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

    /// Whether this attempt runs here.
    pub(crate) fn runs(&self, id: &str, attempt: u32) -> bool {
        self.inner().running.get(id).is_some_and(|live| live.hold.attempt == attempt)
    }

    /// Removes one that is over.
    pub(crate) fn remove(&self, live: &Live) {
        let mut inner = self.inner();
        // A retry of it may be there by now.
        if inner.running.get(&live.id).is_some_and(|other| other.hold == live.hold) {
            inner.running.remove(&live.id);
        }
        drop(inner);
        live.over.cancel();
        self.left.notify_waiters();
    }

    /// Whether there are none. If so, nobody renews leases from now on.
    pub(crate) fn rest(&self) -> bool {
        let mut inner = self.inner();
        let none = inner.running.is_empty();
        if none {
            inner.kept = false;
        }
        none
    }

    /// Nobody renews leases any more, though there may be some.
    pub(crate) fn abandon(&self) {
        self.inner().kept = false;
    }

    /// Waits until none of these runs any more.
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
