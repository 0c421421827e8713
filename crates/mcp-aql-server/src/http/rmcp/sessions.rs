//! Sessions over HTTP. rmcp limits neither their number nor the size of the replies that it keeps.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use futures_util::future::ready;
use futures_util::{Stream, StreamExt as _};
use mcp_aql_core::Adapter;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::operation::Cancellation;
use mcp_aql_core::internal::util::{read_lock, write_lock};
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
use super::events::{cancelled_request, identify, in_use, new_events, standalone_events};
use super::open_session::{OpenSession, SessionCall};
use super::replay::{EventId, FinishedReplies, Replay, RetentionLimits, StreamId};
use super::session_usage::{by_idleness, counted};
use super::{long_id, task_routing};
use crate::mcp::connection::Connection;

/// Time limit for closing an evicted session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The limits on sessions and on the replies kept for them.
pub(crate) struct SessionLimits {
    /// How long a session is kept without use.
    pub(crate) timeout: Duration,
    pub(crate) max_sessions: usize,
    pub(crate) max_sessions_per_principal: usize,
    pub(crate) replies: RetentionLimits,
}

/// rmcp's sessions, with limits on their number.
pub(crate) struct Sessions {
    inner: Arc<LocalSessionManager>,
    /// The adapter of the tools. A session with running executions is not evicted.
    adapter: Option<Adapter>,
    most: usize,
    /// Maximum number of sessions of one principal.
    most_of_principal: usize,
    /// Serializes the opening of sessions, so that two clients cannot both take the last free slot.
    opening: tokio::sync::Mutex<()>,
    open: RwLock<HashMap<SessionId, Arc<OpenSession>>>,
    /// Interval at which rmcp is notified that a session is in use.
    keep_alive_interval: Duration,
    /// Replies that clients may fetch again.
    finished: Arc<FinishedReplies>,
}

/// Returns the error for a request whose session has ended since the request was accepted.
fn ended(id: &SessionId) -> SessionError {
    notice(SessionProblem { unknown_session: true, ..SessionProblem::default() });
    SessionError::Other(LocalSessionManagerError::SessionNotFound(Arc::clone(id)))
}

/// The reason why a request of the session manager failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
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
    pub(crate) fn new(limits: SessionLimits, adapter: Option<&Adapter>) -> Self {
        let mut inner = LocalSessionManager::default();
        let keep_alive_interval = limits.timeout / 8;
        // The last keep-alive may be one interval old. Without the addition, this would shorten a session's lifetime.
        inner.session_config.keep_alive = Some(limits.timeout.saturating_add(keep_alive_interval));
        // Replies are kept in `finished`, with a limit. rmcp would keep a second copy of them, including their
        // channels.
        inner.session_config.completed_cache_ttl = Duration::ZERO;
        Self {
            inner: Arc::new(inner),
            adapter: adapter.cloned(),
            most: limits.max_sessions,
            most_of_principal: limits.max_sessions_per_principal,
            opening: tokio::sync::Mutex::default(),
            open: RwLock::default(),
            keep_alive_interval,
            finished: FinishedReplies::new(limits.replies),
        }
    }

    /// Returns the open session with this id.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<OpenSession>> {
        read_lock(&self.open).get(id).cloned()
    }

    /// Returns the number of sessions of a principal.
    fn count_of(&self, principal: &str) -> usize {
        let open = read_lock(&self.open);
        open.values().filter(|open| open.identity.as_deref() == Some(principal)).count()
    }

    fn connection(&self, id: &str) -> Option<Arc<Connection>> {
        self.get(id)?.connection()
    }

    /// Evicts one idle session, only of this principal if one is given. `limit` is the reached limit. Returns
    /// `true` if a session was evicted.
    async fn evict(&self, principal: Option<&str>, limit: usize) -> bool {
        let considered: Vec<_> = {
            let open = read_lock(&self.open);
            let of_principal =
                |it: &&Arc<OpenSession>| principal.is_none() || it.identity.as_deref() == principal;
            open.values().filter(of_principal).map(Arc::clone).collect()
        };
        let idle = by_idleness(considered, limit, |session| &session.usage);
        let evicted = idle.into_iter().find(|(rank, session)| {
            let connection = session.connection();
            let opened = connection.as_deref().and_then(Connection::opened);
            let adapter = self.adapter.as_ref();
            !adapter.zip(opened).is_some_and(|(adapter, opened)| adapter.runs_executions_of(opened))
                && session.usage.evict(rank)
        });
        let Some((_, session)) = evicted else { return false };
        tracing::info!(
            mcp_session = &*session.id,
            "evicted an idle session, because the limit on sessions is reached"
        );
        // Limit the time, because others wait to open sessions. The first poll already removes the session.
        match tokio::time::timeout(CLOSE_TIMEOUT, self.close_session(&session.id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the session has ended"),
            Err(_) => tracing::debug!("the session does not react to its end"),
        }
        true
    }

    /// Returns `true` if a session with this id was opened by another identity.
    pub(crate) fn is_foreign(&self, id: &str, principal: Option<&Principal>) -> bool {
        let identity = principal.map(Principal::identity);
        self.get(id).is_some_and(|open| open.identity.as_deref() != identity.as_deref())
    }

    /// Ends all sessions. Their connections may remain open for a while.
    pub(crate) fn end(&self) {
        let open = read_lock(&self.open);
        for connection in open.values().filter_map(|open| open.connection()) {
            connection.end();
        }
    }

    /// Keeps a session from expiring while a call runs.
    pub(crate) async fn during<T>(
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

    /// Keeps a session from expiring while rmcp answers a request, until the guard is dropped. The answer may have to
    /// wait for a user or for the end of an execution.
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

    /// Passes a message to the session. Reports to the client if the session has ended since the request was accepted.
    async fn deliver(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let delivered = self.inner.accept_message(id, message).await;
        delivered.map_err(|error| match self.get(id) {
            Some(_) => error.into(),
            None => ended(id),
        })
    }

    /// Sends a message without effect to rmcp, because rmcp measures inactivity by the last received message.
    async fn keep(&self, session: &OpenSession) {
        if !session.needs_keep_alive(self.keep_alive_interval) {
            return;
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
        let (connection, principal) = current_request::opener();
        if let Some(principal) = &principal {
            while self.count_of(principal) >= self.most_of_principal {
                if !self.evict(Some(principal), self.most_of_principal).await {
                    notice(SessionProblem { no_own_session: true, ..SessionProblem::default() });
                    return Err(SessionError::FullForPrincipal(self.most_of_principal));
                }
            }
        }
        while self.inner.sessions.read().await.len() >= self.most {
            if !self.evict(None, self.most).await {
                notice(SessionProblem { no_session: true, ..SessionProblem::default() });
                return Err(SessionError::Full(self.most));
            }
        }
        let (id, transport) = self.inner.create_session().await?;
        if let Some(connection) = connection.upgrade() {
            connection.set_mcp_session_id(&id);
        }
        let finished = Arc::clone(&self.finished);
        let open = OpenSession::new(Arc::clone(&id), principal, connection, finished);
        let mut sessions = write_lock(&self.open);
        sessions.insert(Arc::clone(&id), Arc::new(open));
        drop(sessions);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        // If the client disconnects before the answer, this future is dropped, and the use with it.
        let _opening = self.get(id).and_then(|open| open.take_opening());
        let answer = self.inner.initialize_session(id, message).await;
        Ok(task_routing::declare(answer?, self.connection(id).as_deref()))
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        let open = write_lock(&self.open).remove(id);
        match &open {
            Some(open) => open.streams.end(),
            None => notice(SessionProblem { unknown_session: true, ..SessionProblem::default() }),
        }
        // Otherwise a call that bypasses rmcp would keep the connection open.
        if let Some(connection) = open.and_then(|open| open.connection()) {
            connection.end();
        }
        // Use a separate task, so that the session is removed even if the client disconnects in the meantime.
        let (inner, id) = (Arc::clone(&self.inner), Arc::clone(id));
        match tokio::spawn(async move { inner.close_session(&id).await }).await {
            Ok(closed) => Ok(closed?),
            Err(error) => {
                tracing::debug!(%error, "the session has ended");
                Ok(())
            }
        }
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.get(id).ok_or_else(|| ended(id))?;
        // This use belongs to the client that reads the reply. The request has its own use until the reply ends.
        let read = open.usage.begin().ok_or_else(|| ended(id))?;
        let has_first = open.takes_empty_events();
        let request = match &mut message {
            JsonRpcMessage::Request(request) => {
                task_routing::route(&mut request.request, open.connection().as_deref());
                let written = long_id::written(&request.id);
                let running = SessionCall::begin(open, &written, Cancellation::default());
                let running = running.ok_or_else(|| ended(id))?;
                let id = std::mem::replace(&mut request.id, RequestId::Number(running.number));
                Some((running, id))
            }
            // rmcp only opens streams for requests.
            _ => None,
        };
        let in_use = self.keep_until_dropped(id).await;
        let events = self.inner.create_stream(id, message).await?;
        let Some((running, id)) = request else {
            return Ok(counted(events, read).left_stream());
        };
        let record = running.record();
        let sent = record.events();
        let request_id = id.clone();
        // rmcp's first event has no message, and some clients do not support that.
        let events = events.filter(move |event| ready(has_first || event.message.is_some()));
        let events = events.map(move |mut event| {
            let _ = &in_use;
            identify(&mut event, &request_id);
            event
        });
        tokio::spawn(record.run(events.boxed(), id, move || running.end()));
        Ok(counted(sent, read).right_stream())
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
                // For calls answered directly, rmcp ignores the unknown number.
                self.deliver(id, cancelled_request(number)).await?;
            }
        }
        self.deliver(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.get(id).ok_or_else(|| ended(id))?;
        let read = open.usage.begin().ok_or_else(|| ended(id))?;
        let events = self.inner.create_standalone_stream(id).await?;
        let has_first = open.takes_empty_events();
        Ok(counted(new_events(StreamId::standalone(id), has_first, events), read))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.get(id).ok_or_else(|| ended(id))?;
        let read = open.usage.begin().ok_or_else(|| ended(id))?;
        let last = EventId::parse(&last_event_id).filter(|last| last.stream.is_of(id));
        let unknown = || {
            notice(SessionProblem { unknown_event: true, ..SessionProblem::default() });
            SessionError::UnknownEvent
        };
        let last = last.ok_or_else(unknown)?;
        if let (None, Some(next)) = (last.stream.call, last.next) {
            let events = self.inner.resume(id, next.to_string()).await.map_err(|_| unknown())?;
            return Ok(counted(standalone_events(last.stream, events), read).left_stream());
        }
        match open.streams.replay(&last) {
            Replay::Events(events) => Ok(counted(events, read).right_stream()),
            Replay::NotKept => Err(unknown()),
            Replay::Complete => {
                notice(SessionProblem { nothing_left: true, ..SessionProblem::default() });
                Err(SessionError::NothingLeft)
            }
        }
    }
}
