//! Sessions over HTTP, so many and no more.

use std::cell::Cell;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::Mutex;

use super::http::HttpOptions;

tokio::task_local! {
    /// Whether the request that is being served was refused a session. rmcp asks for a session while
    /// it serves the request, and has no other way to say why there was none.
    static REFUSED: Cell<bool>;
}

/// Serves a request; tells whether it was refused a session.
pub(super) async fn noticing<F: Future>(serving: F) -> (F::Output, bool) {
    REFUSED
        .scope(Cell::new(false), async {
            let served = serving.await;
            (served, REFUSED.with(Cell::get))
        })
        .await
}

/// rmcp's sessions, counted.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    most: usize,
    /// Sessions open one after the other, so that the last place is given once.
    opening: Mutex<()>,
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
        inner.session_config.keep_alive = Some(options.session_timeout);
        Self { inner, most: options.max_sessions, opening: Mutex::default() }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let _one = self.opening.lock().await;
        if self.inner.sessions.read().await.len() >= self.most {
            let _ = REFUSED.try_with(|refused| refused.set(true));
            return Err(SessionsError::Full(self.most));
        }
        Ok(self.inner.create_session().await?)
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
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}
