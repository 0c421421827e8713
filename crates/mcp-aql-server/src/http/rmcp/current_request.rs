//! Results of an HTTP request that rmcp's interface cannot return. rmcp's session manager does not see the request of a
//! new session, and all of its errors become the status 500.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use mcp_aql_core::internal::caller::Principal;

use crate::mcp::connection::Connection;

tokio::task_local! {
    /// The results of the current request that rmcp's interface cannot return.
    static CURRENT_REQUEST: RequestState;
}

#[derive(Default)]
struct RequestState {
    /// The problem with the request's session.
    noticed: Cell<SessionProblem>,
    /// The last connection created for the request. If the request opens a session, this is the session's connection.
    connection: RefCell<Weak<Connection>>,
    /// The identity of the request's principal.
    identity: Option<Box<str>>,
}

/// The problem with the session of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionProblem {
    /// If `true`, the session could not be opened because of the limit on sessions.
    pub(crate) no_session: bool,
    /// If `true`, the session could not be opened because of the limit of its principal.
    pub(crate) no_own_session: bool,
    /// If `true`, the session to close does not exist.
    pub(crate) unknown_session: bool,
    /// If `true`, the event to resume after is not kept.
    pub(crate) unknown_event: bool,
    /// If `true`, the client has already received all events of the stream to resume.
    pub(crate) nothing_left: bool,
}

/// Serves a request, and returns the problem with its session. A session opened by the request belongs to the
/// principal.
pub(crate) async fn observe_session<F: Future>(
    principal: Option<&Principal>,
    serving: F,
) -> (F::Output, SessionProblem) {
    let identity = principal.map(|principal| principal.identity().into());
    CURRENT_REQUEST
        .scope(RequestState { identity, ..RequestState::default() }, async {
            let served = serving.await;
            (served, CURRENT_REQUEST.with(|served| served.noticed.get()))
        })
        .await
}

/// Records the problem with the session of the current request.
pub(crate) fn notice(noticed: SessionProblem) {
    // Sessions may also end outside of requests.
    let _ = CURRENT_REQUEST.try_with(|served| served.noticed.set(noticed));
}

/// Returns the connection and the principal's identity for a session opened by the current request.
pub(crate) fn opener() -> (Weak<Connection>, Option<Box<str>>) {
    let opener = |served: &RequestState| (served.connection.take(), served.identity.clone());
    CURRENT_REQUEST.try_with(opener).unwrap_or_default()
}

/// Records the connection created for the current request.
pub(crate) fn made(connection: &Arc<Connection>) {
    // No session is opened outside of requests.
    let _ = CURRENT_REQUEST
        .try_with(|served| *served.connection.borrow_mut() = Arc::downgrade(connection));
}
