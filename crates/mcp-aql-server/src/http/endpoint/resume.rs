//! Answers clients that resume a stream of events.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::{McpEndpoint, held, session_not_found};
use crate::http::direct::SESSION_ID;
use crate::http::rmcp::current_request::observe_session;
use crate::http::rmcp::events::{event_text, events};
use crate::http::rmcp::forward::with_original_ids;
use crate::http::rmcp::long_id;
use crate::http::rmcp::replay::{EventId, NOT_KEPT, SESSION_ENDED, lost_reply};

/// Header with the id of the last event received by the client.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";
/// A session id that never exists, because the ids of sessions are longer.
const NO_SESSION: HeaderValue = HeaderValue::from_static("none");

impl McpEndpoint {
    /// Resumes a stream of events.
    ///
    /// If the reply is not available, the response is an event with an error for the request, even if the session has
    /// ended. Several clients ignore the status of a reconnection, so their request would wait forever.
    ///
    /// If the client has received all events, the status is 204. It makes clients of event streams stop reconnecting.
    pub(super) async fn resume_stream(&self, mut request: Request) -> Response {
        let last = request.headers().get(LAST_EVENT_ID);
        let last = last.and_then(|id| EventId::parse(id.to_str().ok()?));
        if self.direct.is_foreign(&request) {
            // Treat the session of another principal like one that does not exist.
            request.headers_mut().insert(SESSION_ID, NO_SESSION);
        }
        // The stream of a request ends with its answer, so the server can wait for it. The stream of a session only
        // ends with the server.
        let is_of_request = last.as_ref().is_some_and(|last| last.stream.call.is_some());
        let open = is_of_request.then(|| self.server().drain().hold());
        let (response, noticed) = observe_session(None, self.rmcp.run(request)).await;
        let has_ended = response.status() == StatusCode::NOT_FOUND || noticed.unknown_session;
        if !has_ended && !noticed.unknown_event && !noticed.nothing_left {
            let response = with_original_ids(response);
            return match open {
                Some(open) => held(response, open),
                None => response,
            };
        }
        match last {
            Some(last) if noticed.nothing_left || last.next.is_none() => {
                StatusCode::NO_CONTENT.into_response()
            }
            Some(last) => answer_lost(last, has_ended),
            None if has_ended => session_not_found(),
            None => not_kept(),
        }
    }
}

/// Answers the request whose stream the client wants to resume with an error.
fn answer_lost(last: EventId, has_ended: bool) -> Response {
    let id = last.stream.request.as_deref().and_then(long_id::request_id);
    match id {
        Some(id) => {
            let message = lost_reply(id, if has_ended { SESSION_ENDED } else { NOT_KEPT });
            let event =
                event_text(Some(&last.stream.event(None).to_string()), Some(&message), None);
            events(long_id::restore(event).into())
        }
        None if has_ended => session_not_found(),
        None => not_kept(),
    }
}

/// Returns the response if the event id contains no request. The status is not 404, because that would mean that the
/// session has ended.
fn not_kept() -> Response {
    let unknown = "Bad Request: Last-Event-ID names no event of a kept reply";
    (StatusCode::BAD_REQUEST, unknown).into_response()
}
