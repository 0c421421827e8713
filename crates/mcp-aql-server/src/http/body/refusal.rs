//! The responses to requests with incomplete bodies, and to those that exceed a limit of the server.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::BodyRecord;
use crate::mcp::answer::fail_with;
use crate::mcp::drain::RETRY_AFTER_SECONDS;
use crate::mcp::request_id::IdScanner;

/// The first JSON-RPC code reserved for servers. Used for too many sessions, too many bytes, and a stopping server.
const SERVER_OVERLOADED: i32 = -32000;

/// Returns the response to a body that was not complete in time, ended early, or was aborted in favor of another one.
pub(crate) fn refuse_unfinished(seen: &BodyRecord) -> Option<Response> {
    let refused = |status: StatusCode, message: &str| {
        Some((status, json(), failure(seen, -32600, message)).into_response())
    };
    if seen.late {
        let message = "Invalid request: the body was not complete in time";
        return refused(StatusCode::REQUEST_TIMEOUT, message);
    }
    if seen.is_broken {
        // Most clients have disconnected in this case.
        let message = "Invalid request: the body ended early, or its chunks are not valid";
        return refused(StatusCode::BAD_REQUEST, message);
    }
    let message = "Too many requests are being received: try again later";
    seen.is_aborted.then(|| refuse_overload(seen, message))
}

/// Builds the response to a new session when the limit on sessions is reached.
pub(crate) fn refuse_session(seen: &BodyRecord) -> Response {
    refuse_overload(seen, "Too many sessions are open: try again later")
}

/// Builds the response to a caller at its limit on sessions.
pub(crate) fn refuse_own_session(seen: &BodyRecord) -> Response {
    let message = "This caller has too many open sessions: end one with DELETE, or try again later";
    refuse_for_now(seen, StatusCode::TOO_MANY_REQUESTS, message)
}

/// Builds the response to a client without a session while the server is stopping.
pub(crate) fn refuse_shutdown(seen: &BodyRecord) -> Response {
    let message = format!(
        "The server is shutting down: send the request again in {RETRY_AFTER_SECONDS} seconds"
    );
    refuse_overload(seen, &message)
}

fn refuse_overload(seen: &BodyRecord, message: &str) -> Response {
    refuse_for_now(seen, StatusCode::SERVICE_UNAVAILABLE, message)
}

fn refuse_for_now(seen: &BodyRecord, status: StatusCode, message: &str) -> Response {
    let body = failure(seen, SERVER_OVERLOADED, message);
    let retry = [(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS))];
    (status, json(), retry, body).into_response()
}

/// Returns a JSON-RPC error with the id of the request, if the part read so far contains it.
fn failure(seen: &BodyRecord, code: i32, message: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let id = IdScanner::of(&seen.read()).id;
    fail_with(&mut body, id.as_deref(), code, message);
    body
}

/// Returns the `Content-Type` header for JSON.
pub(crate) fn json() -> [(HeaderName, &'static str); 1] {
    [(CONTENT_TYPE, "application/json")]
}
