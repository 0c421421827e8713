//! Sessions over HTTP, with a limit on their number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt as _};
use mcp_aql_core::operation::Cancellation;
use mcp_aql_core::principal::Principal;
use mcp_aql_core::sync::lock;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::current_request::{self, SessionProblem, notice};
use super::long_id;
use super::options::HttpOptions;
use super::replay::{EventId, EventStreams, FinishedReplies, Replay, ReplyRecord, StreamId};
use super::session_events::{cancelled_request, identify, in_use, new_events, standalone_events};
use super::task_routing;
use crate::calls::Calls;
use crate::connection::Connection;

/// rmcp's sessions, with a limit.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    most: usize,
    /// The limit of one principal.
    most_of_principal: usize,
    /// Serializes opening, so that the last free place is used once.
    opening: tokio::sync::Mutex<()>,
    open: RwLock<HashMap<SessionId, Arc<OpenSession>>>,
    /// The interval at which rmcp is notified that a session is in use.
    keep_alive_interval: Duration,
    /// Replies that clients may fetch again.
    finished: Arc<FinishedReplies>,
}

/// An open session, for the calls that bypass rmcp.
pub(super) struct OpenSession {
    id: SessionId,
    /// The id of the principal that opened the session. Requests of others are refused.
    principal: Option<Box<str>>,
    connection: Weak<Connection>,
    calls: Calls,
    /// The event streams of its requests.
    streams: Arc<EventStreams>,
    /// The time of the last keep-alive message to rmcp.
    kept_alive_at: Mutex<Instant>,
}

impl OpenSession {
    /// The session's connection, unless it has ended.
    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.upgrade()
    }
}

/// A running request of a session. Dropping it ends the request. rmcp, which routes answers by id,
/// gets the number instead of the id.
pub(super) struct SessionCall {
    session: Arc<OpenSession>,
    /// The request's id in canonical form.
    id: Arc<str>,
    number: i64,
}

impl SessionCall {
    pub(super) fn begin(session: Arc<OpenSession>, id: &str, cancellation: Cancellation) -> Self {
        let id = Arc::from(id);
        let number = session.calls.begin(&id, cancellation);
        Self { session, id, number }
    }

    /// Begins to record the reply.
    fn record(&self) -> ReplyRecord {
        self.session.streams.record(self.number, &self.id)
    }

    /// The place for the reply.
    pub(super) fn reply(&self) -> SessionReply {
        let (session, id) = (Arc::clone(&self.session), Arc::clone(&self.id));
        SessionReply { session, id, number: self.number }
    }

    pub(super) fn session(&self) -> &OpenSession {
        &self.session
    }

    /// Ends the request. Returns whether its answer is still expected.
    pub(super) fn is_awaited(&self) -> bool {
        self.session.calls.end(&self.id, self.number)
    }
}

impl Drop for SessionCall {
    fn drop(&mut self) {
        self.is_awaited();
    }
}

/// The place for the reply to a request of a session, so that the client can fetch it later.
pub(super) struct SessionReply {
    session: Arc<OpenSession>,
    id: Arc<str>,
    number: i64,
}

impl SessionReply {
    /// Begins to record the reply. Also returns the id of the request, unless it is a number that rmcp cannot represent.
    pub(super) fn record(&self) -> Option<(ReplyRecord, RequestId)> {
        let id = serde_json::from_str(&self.id).ok()?;
        Some((self.session.streams.record(self.number, &self.id), id))
    }
}

/// The reason why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("{0} sessions are open, which is the limit")]
    Full(usize),
    #[error("the caller has {0} open sessions, which is its limit")]
    FullForPrincipal(usize),
    #[error("the event is not kept")]
    UnknownEvent,
    #[error("the client has received all events")]
    NothingLeft,
    #[error(transparent)]
    Other(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let mut inner = LocalSessionManager::default();
        let keep_alive_interval = options.session_timeout / 8;
        // The last keep-alive may be one interval old, and must not shorten a session's lifetime.
        inner.session_config.keep_alive =
            Some(options.session_timeout.saturating_add(keep_alive_interval));
        Self {
            inner,
            most: options.max_sessions,
            most_of_principal: options.max_sessions_per_principal,
            opening: tokio::sync::Mutex::default(),
            open: RwLock::default(),
            keep_alive_interval,
            finished: FinishedReplies::new(options.replies),
        }
    }

    /// Returns the open session with this id.
    pub(super) fn get(&self, id: &str) -> Option<Arc<OpenSession>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The number of sessions of a principal.
    fn count_of(&self, principal: &str) -> usize {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.values().filter(|open| open.principal.as_deref() == Some(principal)).count()
    }

    fn connection(&self, id: &str) -> Option<Arc<Connection>> {
        self.get(id)?.connection()
    }

    /// Whether this is the id of a session that another principal has opened.
    pub(super) fn is_foreign(&self, id: &str, principal: Option<&Principal>) -> bool {
        let principal = principal.map(Principal::id);
        self.get(id).is_some_and(|open| open.principal.as_deref() != principal)
    }

    /// Ends all sessions. Their connections may outlast them for a while.
    pub(super) fn end(&self) {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        for connection in open.values().filter_map(|open| open.connection()) {
            connection.end();
        }
    }

    /// Keeps a session from expiring while a call runs.
    pub(super) async fn during<T>(
        &self,
        session: &OpenSession,
        call: impl Future<Output = T>,
    ) -> T {
        self.keep(session).await;
        tokio::pin!(call);
        loop {
            let again = async {
                tokio::time::sleep(self.keep_alive_interval.max(Duration::from_millis(1))).await;
                self.keep(session).await;
            };
            tokio::select! {
                biased;
                done = &mut call => return done,
                () = again => {}
            }
        }
    }

    /// Keeps a session from expiring while a request is answered by rmcp, until the guard is dropped. The answer may
    /// depend on a user who takes time, or on the end of an execution.
    async fn keep_until_dropped(&self, id: &SessionId) -> Option<DropGuard> {
        let handle = self.inner.sessions.read().await.get(id).cloned()?;
        let interval = self.keep_alive_interval.max(Duration::from_millis(1));
        let answered = CancellationToken::new();
        let guard = answered.clone().drop_guard();
        tokio::spawn(async move {
            while answered.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
                if handle.push_message(in_use(), None).await.is_err() {
                    return;
                }
            }
        });
        Some(guard)
    }

    /// Sends rmcp a message without effect, since it measures inactivity by the last message that
    /// it received.
    async fn keep(&self, session: &OpenSession) {
        {
            let mut kept_alive_at = lock(&session.kept_alive_at);
            if kept_alive_at.elapsed() < self.keep_alive_interval {
                return;
            }
            *kept_alive_at = Instant::now();
        }
        let sent = self.inner.accept_message(&session.id, in_use());
        if let Err(error) = sent.await {
            tracing::debug!(%error, "the session has ended");
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let _one = self.opening.lock().await;
        if self.inner.sessions.read().await.len() >= self.most {
            notice(SessionProblem { no_session: true, ..SessionProblem::default() });
            return Err(SessionError::Full(self.most));
        }
        let (connection, principal) = current_request::opener();
        if let Some(principal) = &principal
            && self.count_of(principal) >= self.most_of_principal
        {
            notice(SessionProblem { no_own_session: true, ..SessionProblem::default() });
            return Err(SessionError::FullForPrincipal(self.most_of_principal));
        }
        let (id, transport) = self.inner.create_session().await?;
        if let Some(connection) = connection.upgrade() {
            connection.set_mcp_session_id(&id);
        }
        let open = OpenSession {
            id: Arc::clone(&id),
            principal,
            connection,
            calls: Calls::default(),
            streams: EventStreams::new(Arc::clone(&id), Arc::clone(&self.finished)),
            kept_alive_at: Mutex::new(Instant::now()),
        };
        let mut sessions = self.open.write().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(Arc::clone(&id), Arc::new(open));
        drop(sessions);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let answer = self.inner.initialize_session(id, message).await?;
        Ok(task_routing::declare(answer, self.connection(id).as_deref()))
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        match &open {
            Some(open) => open.streams.end(),
            None => notice(SessionProblem { unknown_session: true, ..SessionProblem::default() }),
        }
        // A call that bypasses rmcp would keep it open.
        if let Some(connection) = open.and_then(|open| open.connection()) {
            connection.end();
        }
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let request = match (self.get(id), &mut message) {
            (Some(open), JsonRpcMessage::Request(request)) => {
                task_routing::route(&mut request.request, open.connection().as_deref());
                let written = long_id::written(&request.id);
                let running = SessionCall::begin(open, &written, Cancellation::default());
                let id = std::mem::replace(&mut request.id, RequestId::Number(running.number));
                Some((running, id))
            }
            _ => None,
        };
        let in_use = self.keep_until_dropped(id).await;
        let events = self.inner.create_stream(id, message).await?;
        let Some((running, id)) = request else {
            // The session has just ended, and nothing is kept.
            return Ok(events.left_stream());
        };
        let record = running.record();
        let sent = record.events();
        let request_id = id.clone();
        let events = events.map(move |mut event| {
            let _ = &in_use;
            identify(&mut event, &request_id);
            event
        });
        tokio::spawn(record.run(events.boxed(), id, move || running.is_awaited()));
        Ok(sent.right_stream())
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        if let JsonRpcMessage::Notification(notification) = &mut message
            && let ClientNotification::CancelledNotification(cancelled) =
                &mut notification.notification
            && let Some(request) = cancelled.params.request_id.take()
            && let Some(session) = self.get(id)
        {
            for number in session.calls.cancel(&long_id::written(&request)) {
                // rmcp ignores the numbers of calls that are answered directly.
                self.inner.accept_message(id, cancelled_request(number)).await?;
            }
        }
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let events = self.inner.create_standalone_stream(id).await?;
        Ok(new_events(StreamId::standalone(id), events))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let last = EventId::parse(&last_event_id).filter(|last| last.stream.is_of(id));
        let unknown = || {
            notice(SessionProblem { unknown_event: true, ..SessionProblem::default() });
            SessionError::UnknownEvent
        };
        let last = last.ok_or_else(unknown)?;
        if let (None, Some(next)) = (last.stream.call, last.next) {
            let events = self.inner.resume(id, next.to_string()).await.map_err(|_| unknown())?;
            return Ok(standalone_events(last.stream, events).left_stream());
        }
        match self.get(id).map_or(Replay::NotKept, |open| open.streams.replay(&last)) {
            Replay::Events(events) => Ok(events.right_stream()),
            Replay::NotKept => Err(unknown()),
            Replay::Complete => {
                notice(SessionProblem { nothing_left: true, ..SessionProblem::default() });
                Err(SessionError::NothingLeft)
            }
        }
    }
}
