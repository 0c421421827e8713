//! Sessions over HTTP, so many and no more.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt as _, future};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, CustomNotification, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio_util::sync::CancellationToken;

use super::calls::{Calls, cancelled_request};
use super::connection::Connection;
use super::http::HttpOptions;
use super::replay::{Finished, Streams};
use super::wire::long_id;
use crate::sync::lock;

tokio::task_local! {
    /// What happens while rmcp serves one request, and what it has no other way to say.
    static SERVED: Served;
}

#[derive(Default)]
struct Served {
    /// What went wrong with its session.
    noticed: Cell<Noticed>,
    /// The connection that was made for it last: of its session, if it opens one.
    connection: RefCell<Weak<Connection>>,
}

/// What went wrong with the session of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noticed {
    /// It was to be opened, and there are too many.
    pub(super) no_session: bool,
    /// It was to be closed, and is not there.
    pub(super) unknown_session: bool,
    /// Its events were to be sent from one on that is not kept.
    pub(super) unknown_event: bool,
}

/// Serves a request, and returns what went wrong with its session.
pub(super) async fn noticing<F: Future>(serving: F) -> (F::Output, Noticed) {
    SERVED
        .scope(Served::default(), async {
            let served = serving.await;
            (served, SERVED.with(|served| served.noticed.get()))
        })
        .await
}

fn notice(noticed: Noticed) {
    // A session also ends outside of requests.
    let _ = SERVED.try_with(|served| served.noticed.set(noticed));
}

/// Notes the connection that was made for the request that is being served.
pub(super) fn made(connection: &Arc<Connection>) {
    // Outside of a request, nothing opens a session.
    let _ = SERVED.try_with(|served| *served.connection.borrow_mut() = Arc::downgrade(connection));
}

/// rmcp's sessions, counted.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    most: usize,
    /// Sessions open one after the other, so that the last place is given once.
    opening: tokio::sync::Mutex<()>,
    open: RwLock<HashMap<SessionId, Arc<Open>>>,
    /// How often rmcp is told that a session is in use.
    pulse: Duration,
    /// The replies that clients may fetch again.
    finished: Arc<Finished>,
}

/// An open session, for the calls that do not go through rmcp.
pub(super) struct Open {
    id: SessionId,
    connection: Weak<Connection>,
    calls: Calls,
    /// The events of its requests.
    streams: Arc<Streams>,
    /// When rmcp last knew that it is in use.
    told: Mutex<Instant>,
}

impl Open {
    /// The session's connection, unless it has ended.
    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.upgrade()
    }
}

/// A request among those of its session, until it is dropped.
pub(super) struct Running {
    session: Arc<Open>,
    /// The request's id, in canonical form.
    id: Box<str>,
    number: i64,
}

impl Running {
    pub(super) fn begin(session: Arc<Open>, id: &str, cancellation: CancellationToken) -> Self {
        let number = session.calls.begin(id, cancellation);
        Self { session, id: id.into(), number }
    }

    pub(super) fn session(&self) -> &Open {
        &self.session
    }

    /// Whether the client waits for the answer. Ends the request.
    pub(super) fn is_awaited(&self) -> bool {
        self.session.calls.end(&self.id, self.number)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.is_awaited();
    }
}

/// Gives an answer the id of its request.
fn identify(event: &mut ServerSseMessage, id: &RequestId) {
    if !is_answer(event) {
        return;
    }
    match event.message.as_mut().map(Arc::make_mut) {
        Some(JsonRpcMessage::Response(response)) => response.id = id.clone(),
        Some(JsonRpcMessage::Error(error)) => error.id = Some(id.clone()),
        _ => {}
    }
}

/// Whether an event is the answer to a request.
fn is_answer(event: &ServerSseMessage) -> bool {
    matches!(event.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)))
}

/// Leaves out the answers among the events of no request. rmcp puts an answer there if its request has been
/// cancelled at the same moment, and MCP does not allow that.
fn without_answers(
    events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    events.filter(|event| future::ready(!is_answer(event)))
}

/// Why there was no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("{0} sessions are open, which is as many as there may be")]
    Full(usize),
    #[error(transparent)]
    Other(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let mut inner = LocalSessionManager::default();
        let pulse = options.session_timeout / 8;
        // What rmcp was last told may be a pulse ago; no session ends before its time for that.
        inner.session_config.keep_alive = Some(options.session_timeout.saturating_add(pulse));
        Self {
            inner,
            most: options.max_sessions,
            opening: tokio::sync::Mutex::default(),
            open: RwLock::default(),
            pulse,
            finished: Arc::default(),
        }
    }

    /// The open session of this id.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Ends all sessions; their connections may go on for a while.
    pub(super) fn end(&self) {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        for connection in open.values().filter_map(|open| open.connection()) {
            connection.end();
        }
    }

    /// Keeps a session from ending for want of use while a call runs.
    pub(super) async fn during<T>(&self, session: &Open, call: impl Future<Output = T>) -> T {
        self.keep(session).await;
        tokio::pin!(call);
        loop {
            let again = async {
                tokio::time::sleep(self.pulse.max(Duration::from_millis(1))).await;
                self.keep(session).await;
            };
            tokio::select! {
                biased;
                done = &mut call => return done,
                () = again => {}
            }
        }
    }

    /// rmcp counts the time since the last message that went through it, so now and then it gets one
    /// that means nothing.
    async fn keep(&self, session: &Open) {
        {
            let mut told = lock(&session.told);
            if told.elapsed() < self.pulse {
                return;
            }
            *told = Instant::now();
        }
        let nothing = CustomNotification::new("notifications/mcp_aql/in_use", None);
        let nothing = ClientNotification::CustomNotification(nothing);
        let sent = self.inner.accept_message(&session.id, JsonRpcMessage::notification(nothing));
        if let Err(error) = sent.await {
            tracing::debug!(%error, "the session has ended");
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let _one = self.opening.lock().await;
        if self.inner.sessions.read().await.len() >= self.most {
            notice(Noticed { no_session: true, ..Noticed::default() });
            return Err(SessionsError::Full(self.most));
        }
        let (id, transport) = self.inner.create_session().await?;
        let connection = SERVED.try_with(|served| served.connection.take()).unwrap_or_default();
        let open = Open {
            id: Arc::clone(&id),
            connection,
            calls: Calls::default(),
            streams: Arc::default(),
            told: Mutex::new(Instant::now()),
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
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        match &open {
            Some(open) => self.finished.forget(&open.streams),
            None => notice(Noticed { unknown_session: true, ..Noticed::default() }),
        }
        // A call that runs beside rmcp would keep it open.
        if let Some(connection) = open.and_then(|open| open.connection()) {
            connection.end();
        }
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let open = self.get(id);
        let request = match (&open, &mut message) {
            (Some(open), JsonRpcMessage::Request(request)) => {
                let written = long_id::written(&request.id);
                let running = Running::begin(Arc::clone(open), &written, CancellationToken::new());
                let id = std::mem::replace(&mut request.id, RequestId::Number(running.number));
                Some((running, id))
            }
            _ => None,
        };
        let events = self.inner.create_stream(id, message).await?.map(move |mut event| {
            if let Some((_running, id)) = &request {
                identify(&mut event, id);
            }
            event
        });
        // Where the session has just ended, they are recorded for this client alone.
        let streams = open.map(|open| Arc::clone(&open.streams)).unwrap_or_default();
        Ok(streams.record(events.boxed(), &self.finished))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
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
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(without_answers(self.inner.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let open = self.get(id);
        if let Some(events) = open.and_then(|open| open.streams.replay(&last_event_id)) {
            return Ok(events.left_stream());
        }
        match self.inner.resume(id, last_event_id).await {
            Ok(events) => Ok(without_answers(events).right_stream()),
            Err(error) => {
                notice(Noticed { unknown_event: true, ..Noticed::default() });
                Err(error.into())
            }
        }
    }
}
