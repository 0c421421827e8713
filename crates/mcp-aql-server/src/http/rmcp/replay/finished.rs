//! The finished replies of all sessions, with limits on time and memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_aql_core::internal::util::lock;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::EventStreams;

/// The limits on kept replies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetentionLimits {
    /// How long a reply is kept.
    pub(crate) retention: Duration,
    /// Maximum total size of all replies, in bytes.
    pub(crate) bytes: usize,
    /// Maximum total size of the replies of one session, in bytes.
    pub(crate) session_bytes: usize,
}

/// The finished replies of all sessions.
pub(crate) struct FinishedReplies {
    limits: RetentionLimits,
    queue: Mutex<FinishedQueue>,
    /// Notifies the task for expired replies when no reply is left, so that it ends.
    emptied: Arc<Notify>,
}

#[derive(Default)]
struct FinishedQueue {
    /// The replies by age, starting with the oldest.
    replies: BTreeMap<u64, FinishedReply>,
    /// The number of the next reply.
    next: u64,
    bytes: usize,
    /// If `true`, a task for removing expired replies is running.
    is_swept: bool,
}

/// A finished reply. Clients can fetch it again.
struct FinishedReply {
    streams: Weak<EventStreams>,
    call: i64,
    bytes: usize,
    expires: Instant,
}

impl FinishedReplies {
    pub(crate) fn new(limits: RetentionLimits) -> Arc<Self> {
        Arc::new(Self { limits, queue: Mutex::default(), emptied: Arc::default() })
    }

    /// Keeps a reply, and removes older ones that exceed the limits. A reply larger than a limit is not kept.
    pub(super) fn keep(self: &Arc<Self>, streams: &Weak<EventStreams>, call: i64, bytes: usize) {
        let mut queue = lock(&self.queue);
        // The queue stays locked, so a session that ends concurrently removes the reply afterwards.
        let Some(owner) = streams.upgrade() else { return };
        let number = queue.next;
        if !owner.add_finished(number, bytes) {
            return;
        }
        queue.next += 1;
        let (streams, expires) = (Weak::clone(streams), Instant::now() + self.limits.retention);
        queue.replies.insert(number, FinishedReply { streams, call, bytes, expires });
        queue.bytes += bytes;
        while let Some(oldest) = owner.take_oldest_beyond(self.limits.session_bytes) {
            queue.remove(oldest);
        }
        while queue.bytes > self.limits.bytes && queue.remove_oldest() {}
        if !queue.replies.is_empty() && !std::mem::replace(&mut queue.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self), Arc::clone(&self.emptied)));
        }
    }

    /// Drops the replies of an ending session.
    pub(super) fn forget(&self, session: &EventStreams) {
        let mut queue = lock(&self.queue);
        for number in session.clear() {
            if let Some(reply) = queue.replies.remove(&number) {
                queue.bytes = queue.bytes.saturating_sub(reply.bytes);
            }
        }
        if queue.replies.is_empty() {
            self.emptied.notify_one();
        }
    }

    /// Removes expired replies. Returns the time at which the next one expires.
    fn remove_expired(&self) -> Option<Instant> {
        let mut queue = lock(&self.queue);
        let now = Instant::now();
        while queue.oldest().is_some_and(|expires| expires <= now) {
            queue.remove_oldest();
        }
        let next = queue.oldest();
        queue.is_swept = next.is_some();
        next
    }

    /// Returns the number of kept replies and their total size in bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        let queue = lock(&self.queue);
        (queue.replies.len(), queue.bytes)
    }
}

impl Drop for FinishedReplies {
    fn drop(&mut self) {
        self.emptied.notify_one();
    }
}

impl FinishedQueue {
    /// Returns the time at which the oldest reply expires.
    fn oldest(&self) -> Option<Instant> {
        self.replies.first_key_value().map(|(_, reply)| reply.expires)
    }

    /// Removes the oldest reply. Returns `false` if the queue is empty.
    fn remove_oldest(&mut self) -> bool {
        let oldest = self.replies.first_key_value().map(|(number, _)| *number);
        oldest.map(|number| self.remove(number)).is_some()
    }

    fn remove(&mut self, number: u64) {
        let Some(reply) = self.replies.remove(&number) else { return };
        self.bytes = self.bytes.saturating_sub(reply.bytes);
        if let Some(streams) = reply.streams.upgrade() {
            streams.remove_finished(number, reply.call, reply.bytes);
        }
    }
}

/// Removes replies when they expire, until none is left.
async fn sweep(finished: Weak<FinishedReplies>, emptied: Arc<Notify>) {
    loop {
        let next = finished.upgrade().and_then(|finished| finished.remove_expired());
        let Some(next) = next else { return };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = emptied.notified() => {}
        }
    }
}
