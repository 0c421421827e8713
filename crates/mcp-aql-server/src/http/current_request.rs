//! The side results of serving one HTTP request that rmcp's interface cannot return.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use mcp_aql_core::internal::caller::Principal;

use crate::connection::Connection;

tokio::task_local! {
    /// Side results of serving one request that rmcp's interface cannot return.
    static CURRENT_REQUEST: RequestState;
}

#[derive(Default)]
struct RequestState {
    /// The problem with the request's session.
    noticed: Cell<SessionProblem>,
    /// The connection created for the request last. It is the session's connection if the request
    /// opens a session.
    connection: RefCell<Weak<Connection>>,
    /// The id of the principal of the request.
    identity: Option<Box<str>>,
}

/// The problem with the session of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SessionProblem {
    /// The session could not be opened because the limit is reached.
    pub(super) no_session: bool,
    /// The session could not be opened because the limit of its principal is reached.
    pub(super) no_own_session: bool,
    /// The session to be closed does not exist.
    pub(super) unknown_session: bool,
    /// The event after which the client wants to resume is not kept.
    pub(super) unknown_event: bool,
    /// The client has received all events of the stream that it wants to resume.
    pub(super) nothing_left: bool,
}

/// Serves a request, and returns the problem with its session. A session that the request opens belongs to the
/// principal.
pub(super) async fn observe_session<F: Future>(
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

/// Records the problem with the session of the request.
pub(super) fn notice(noticed: SessionProblem) {
    // A session also ends outside of requests.
    let _ = CURRENT_REQUEST.try_with(|served| served.noticed.set(noticed));
}

/// Returns the connection and the principal's id for the session that the request opens.
pub(super) fn opener() -> (Weak<Connection>, Option<Box<str>>) {
    let opener = |served: &RequestState| (served.connection.take(), served.identity.clone());
    CURRENT_REQUEST.try_with(opener).unwrap_or_default()
}

/// Records the connection created for the request that is being served.
pub(super) fn made(connection: &Arc<Connection>) {
    // Outside of a request, no session is opened.
    let _ = CURRENT_REQUEST
        .try_with(|served| *served.connection.borrow_mut() = Arc::downgrade(connection));
}
