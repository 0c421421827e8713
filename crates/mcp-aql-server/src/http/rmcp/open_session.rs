//! An open session and its running requests. rmcp does not know the calls that are answered directly.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use mcp_aql_core::internal::operation::Cancellation;
use mcp_aql_core::internal::util::lock;
use rmcp::transport::streamable_http_server::session::SessionId;

use super::replay::{EventStreams, FinishedReplies, ReplyRecord};
use super::session_usage::{InUse, SessionUsage};
use crate::mcp::cancel::Calls;
use crate::mcp::connection::Connection;

/// An open session. This type serves the calls that bypass rmcp.
pub(crate) struct OpenSession {
    pub(crate) id: SessionId,
    /// The identity of the principal that opened the session. Requests of other principals are rejected.
    pub(crate) identity: Option<Box<str>>,
    connection: Weak<Connection>,
    pub(crate) calls: Calls,
    /// The current uses of the session.
    pub(crate) usage: Arc<SessionUsage>,
    /// The use that lasts until the session is initialized.
    opening: Mutex<Option<InUse>>,
    /// The event streams of the session's requests.
    pub(crate) streams: Arc<EventStreams>,
    /// The time of the last keep-alive message to rmcp.
    kept_alive_at: Mutex<Instant>,
}

impl OpenSession {
    /// Creates a session. It counts as in use until it is initialized.
    pub(crate) fn new(
        id: SessionId,
        identity: Option<Box<str>>,
        connection: Weak<Connection>,
        finished: Arc<FinishedReplies>,
    ) -> Self {
        let (usage, opening) = SessionUsage::opening();
        Self {
            identity,
            connection,
            calls: Calls::default(),
            usage,
            opening: Mutex::new(Some(opening)),
            streams: EventStreams::new(Arc::clone(&id), finished),
            kept_alive_at: Mutex::new(Instant::now()),
            id,
        }
    }

    /// Takes the use that lasts until the session is initialized. Dropping it ends the use.
    pub(crate) fn take_opening(&self) -> Option<InUse> {
        lock(&self.opening).take()
    }

    /// Returns `true` once per interval. rmcp must then be notified that the session is in use.
    pub(crate) fn needs_keep_alive(&self, interval: Duration) -> bool {
        let mut kept_alive_at = lock(&self.kept_alive_at);
        let is_due = kept_alive_at.elapsed() >= interval;
        if is_due {
            *kept_alive_at = Instant::now();
        }
        is_due
    }

    /// Returns `true` if an event without a message may start a stream.
    pub(crate) fn takes_empty_events(&self) -> bool {
        self.connection().is_some_and(|connection| connection.takes_empty_events())
    }

    /// Returns the session's connection, unless it has ended.
    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.upgrade()
    }
}

/// A running request of a session. Dropping it ends the request.
///
/// rmcp routes answers by id. It gets the number instead of the id, because only the number is unique.
pub(crate) struct SessionCall {
    pub(super) session: Arc<OpenSession>,
    /// The request's id in canonical form.
    pub(super) id: Arc<str>,
    pub(crate) number: i64,
    _in_use: InUse,
}

impl SessionCall {
    /// Starts a request. Returns `None` if the session was evicted.
    pub(crate) fn begin(
        session: Arc<OpenSession>,
        id: &str,
        cancellation: Cancellation,
    ) -> Option<Self> {
        let in_use = session.usage.begin()?;
        let id = Arc::from(id);
        let number = session.calls.begin(&id, cancellation);
        Some(Self { session, id, number, _in_use: in_use })
    }

    /// Starts to record the reply.
    pub(crate) fn record(&self) -> ReplyRecord {
        self.session.streams.record(self.number, &self.id)
    }

    pub(crate) fn session(&self) -> &OpenSession {
        &self.session
    }

    /// Ends the request. Returns `true` if the client still expects an answer.
    pub(crate) fn end(&self) -> bool {
        self.session.calls.end(&self.id, self.number)
    }
}

impl Drop for SessionCall {
    fn drop(&mut self) {
        self.end();
    }
}
