//! Cleanup work at the end of sessions. A process completes it before it exits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::caller::session::Session;
use crate::util::lock;

/// Maximum time that closing a connection, or exiting, waits for this work.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(10);

/// The sessions that need cleanup work when they end, for example because tokens must be revoked or agents stopped.
#[derive(Debug, Default)]
pub struct SessionEnds {
    pending: Mutex<Pending>,
    completed: Notify,
}

#[derive(Debug, Default)]
struct Pending {
    sessions: HashMap<u64, Session>,
    next: u64,
}

/// A piece of work. It is pending until this value is dropped.
#[derive(Debug)]
pub struct PendingWork {
    ends: Arc<SessionEnds>,
    number: u64,
}

impl SessionEnds {
    /// Registers work to do when the session ends. Drop the result when you have done the work.
    pub fn expect(self: &Arc<Self>, session: &Session) -> PendingWork {
        let mut pending = lock(&self.pending);
        let number = pending.next;
        pending.next += 1;
        pending.sessions.insert(number, session.clone());
        PendingWork { ends: Arc::clone(self), number }
    }

    /// Ends every session with pending work.
    pub(crate) fn end_sessions(&self) {
        let sessions: Vec<_> = lock(&self.pending).sessions.values().cloned().collect();
        for session in sessions {
            session.end();
        }
    }

    /// Waits until the work of all ended sessions is done, for at most [`SESSION_END_TIMEOUT`].
    ///
    /// Source: REQ-SES-02, REQ-TOK-12, REQ-LIF-10.
    pub(crate) async fn completed(&self) {
        let completed = async {
            loop {
                let notified = self.completed.notified();
                tokio::pin!(notified);
                // Register before checking the condition, so that no notification is missed.
                notified.as_mut().enable();
                if !lock(&self.pending).sessions.values().any(Session::has_ended) {
                    return;
                }
                notified.await;
            }
        };
        if tokio::time::timeout(SESSION_END_TIMEOUT, completed).await.is_err() {
            tracing::error!(
                "timed out ending sessions: some of their tokens or agents remain in the store"
            );
        }
    }
}

impl Drop for PendingWork {
    fn drop(&mut self) {
        lock(&self.ends.pending).sessions.remove(&self.number);
        self.ends.completed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_for_ended_sessions_alone() {
        // REQ-SES-02
        let ends = Arc::new(SessionEnds::default());
        let (open, ended) = (Session::new(), Session::new());
        let _open = ends.expect(&open);
        let work = [ends.expect(&ended), ends.expect(&ended)];
        ends.completed().await;
        ended.end();
        let waiting = ends.completed();
        tokio::pin!(waiting);
        for one in work {
            assert!(crate::util::poll_once(&mut waiting).await.is_pending());
            drop(one);
        }
        waiting.await;
        ends.end_sessions();
        assert!(open.has_ended());
    }
}
