//! Keeps the events of requests, so that clients can fetch them after losing their connection.
//!
//! rmcp discards the events of a request together with its reply. For a fast call, this happens before the client can
//! notice that the connection is lost.

mod event_id;
mod finished;
mod log;
mod record;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::Stream;
use mcp_aql_core::internal::util::lock;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

pub(crate) use self::event_id::{EventId, StreamId};
pub(crate) use self::finished::{FinishedReplies, RetentionLimits};
use self::log::EventLog;
pub(crate) use self::record::{
    ABANDONED, NOT_KEPT, RETRY_INTERVAL, ReplyRecord, SESSION_ENDED, is_answer, lost_reply,
};

/// The replies to the requests of one session, by the numbers of their calls.
pub(crate) struct EventStreams {
    /// The id of the session.
    session: Arc<str>,
    logs: Mutex<SessionLogs>,
    finished: Arc<FinishedReplies>,
}

#[derive(Default)]
struct SessionLogs {
    by_call: HashMap<i64, Arc<EventLog>>,
    /// The numbers of the finished replies, starting with the oldest.
    finished: VecDeque<u64>,
    /// Total size of the finished replies, in bytes.
    bytes: usize,
    /// If `true`, the session has ended and nothing more is kept.
    has_ended: bool,
}

/// The result of resuming the stream of a reply.
pub(crate) enum Replay<S> {
    /// The events after the last one received by the client.
    Events(S),
    /// The client has already received all events. If none of them is an answer, the request was canceled.
    Complete,
    /// The reply is not kept.
    NotKept,
}

impl EventStreams {
    /// Creates the streams of a session. Finished replies count toward the limits of `finished`.
    pub(crate) fn new(session: Arc<str>, finished: Arc<FinishedReplies>) -> Arc<Self> {
        Arc::new(Self { session, logs: Mutex::default(), finished })
    }

    /// Starts to record the reply to a request. `request` is its id in canonical form.
    pub(crate) fn record(self: &Arc<Self>, call: i64, request: &str) -> ReplyRecord {
        let log = Arc::new(EventLog::default());
        let mut logs = lock(&self.logs);
        if !logs.has_ended {
            logs.by_call.insert(call, Arc::clone(&log));
        }
        drop(logs);
        let stream = StreamId::of_call(&self.session, call, request);
        ReplyRecord::new(log, stream, call, Arc::downgrade(self), Arc::clone(&self.finished))
    }

    /// Returns the events after this one.
    pub(crate) fn replay(
        &self,
        last: &EventId,
    ) -> Replay<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (Some(next), Some(call)) = (last.next, last.stream.call) else {
            return Replay::Complete;
        };
        match lock(&self.logs).by_call.get(&call) {
            Some(log) if log.is_over(next) => Replay::Complete,
            Some(log) => Replay::Events(log.events_from(next)),
            None => Replay::NotKept,
        }
    }

    /// Drops all replies when the session ends.
    pub(crate) fn end(&self) {
        self.finished.forget(self);
    }

    /// Counts a finished reply. Returns `false` if the session has ended.
    fn add_finished(&self, number: u64, bytes: usize) -> bool {
        let mut logs = lock(&self.logs);
        if logs.has_ended {
            return false;
        }
        logs.finished.push_back(number);
        logs.bytes += bytes;
        true
    }

    /// Takes the number of the oldest finished reply if the total size of all exceeds this limit.
    fn take_oldest_beyond(&self, bytes: usize) -> Option<u64> {
        let mut logs = lock(&self.logs);
        if logs.bytes > bytes { logs.finished.pop_front() } else { None }
    }

    /// Drops a finished reply. It is the session's oldest, or was already taken by `take_oldest_beyond`.
    fn remove_finished(&self, number: u64, call: i64, bytes: usize) {
        let mut logs = lock(&self.logs);
        if logs.finished.front() == Some(&number) {
            logs.finished.pop_front();
        }
        logs.bytes = logs.bytes.saturating_sub(bytes);
        logs.by_call.remove(&call);
    }

    /// Drops everything. Returns the numbers of the finished replies.
    fn clear(&self) -> VecDeque<u64> {
        let mut logs = lock(&self.logs);
        std::mem::replace(&mut *logs, SessionLogs { has_ended: true, ..SessionLogs::default() })
            .finished
    }
}

#[cfg(test)]
mod tests;
