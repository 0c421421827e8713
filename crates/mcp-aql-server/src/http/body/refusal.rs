//! The responses to rejected requests.

use std::pin::Pin;

use axum::body::HttpBody as _;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::request::{parse, too_large};
use tokio::time::Instant;

use super::BodyGuard;
use super::record::BodyRecord;
use crate::mcp::answer::fail_with;
use crate::mcp::drain::RETRY_AFTER_SECONDS;
use crate::mcp::message::{Fault, Message, Refusal, ToolCall, decode, too_long};
use crate::mcp::recover_id::IdScanner;

/// Maximum number of bytes of an overlong body to read, as a multiple of the maximum body length. The bytes are
/// discarded and only searched for the request's id.
const MAX_SKIPPED_FACTOR: usize = 4;
/// The first JSON-RPC code reserved for servers. Used for too many sessions, too many bytes, and a stopping server.
const SERVER_OVERLOADED: i32 = -32000;

impl BodyGuard {
    /// Reads and discards the rest of an overlong body to find the request's id (REQ-ENC-08).
    pub(super) async fn refuse_long(
        &self,
        seen: BodyRecord,
        (modern, caller): (bool, Option<&Principal>),
        until: Instant,
    ) -> Response {
        let mut scanner = IdScanner::default();
        let mut read = 0;
        let mut take = |piece: &[u8]| {
            scanner.read(piece);
            read += piece.len();
            read < MAX_SKIPPED_FACTOR.saturating_mul(self.longest)
        };
        let mut on = true;
        for piece in &seen.pieces {
            on = take(piece);
        }
        drop(seen.pieces);
        if let Some(mut rest) = seen.rest.filter(|_| !seen.ended) {
            while on {
                let frame = std::future::poll_fn(|context| Pin::new(&mut rest).poll_frame(context));
                match tokio::time::timeout_at(until, frame).await.ok().flatten() {
                    Some(Ok(frame)) => on = frame.data_ref().is_none_or(|piece| take(piece)),
                    Some(Err(_)) | None => break,
                }
            }
        }
        let recovered = scanner.finish();
        let limit = self.server().limits().max_request_size;
        let error = too_large("request_size", limit, recovered.bytes, "bytes");
        let refusal = too_long(recovered, error);
        self.answer(refusal, (modern, caller), StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Rejects a message that rmcp could not parse.
    pub(super) fn refuse(&self, body: &[u8], sender: (bool, Option<&Principal>)) -> Response {
        let refusal = match decode(body) {
            Message::Refused(refusal) => refusal,
            Message::Call(ToolCall { id, arguments, .. }) => {
                let limits = self.server().limits();
                let outcome = parse(arguments.unwrap_or("{}").as_bytes(), limits);
                let fault = outcome.err().map_or(Fault::Form, Fault::Call);
                Refusal { id: Some(id.to_owned()), fault }
            }
            Message::Request(_)
            | Message::Answer { .. }
            | Message::Cancelled { .. }
            | Message::Ignored => Refusal { id: IdScanner::of(body).id, fault: Fault::Form },
            Message::Batch(_) | Message::Blank => Refusal { id: None, fault: Fault::Form },
        };
        self.answer(refusal, sender, StatusCode::BAD_REQUEST)
    }

    /// Responds with a tool result if the protocol defines an error for this rejection. Otherwise responds with a
    /// JSON-RPC error and this status.
    fn answer(
        &self,
        refusal: Refusal,
        (modern, caller): (bool, Option<&Principal>),
        status: StatusCode,
    ) -> Response {
        let Refusal { id, fault } = refusal;
        let mut body = Vec::new();
        let status = match id {
            Some(id) => {
                let answer = self.server().refuse_message(fault, caller);
                self.server().write_answer(&mut body, &id, &answer, modern);
                if answer.is_ok() { StatusCode::OK } else { status }
            }
            None => {
                let (code, message) = fault.code();
                fail_with(&mut body, None, code, &message);
                status
            }
        };
        (status, json(), body).into_response()
    }
}

/// Returns the response to a body that was not complete in time, ended early, or was aborted in favor of another one.
pub(super) fn refuse_unfinished(seen: &BodyRecord) -> Option<Response> {
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

/// Returns the response if the limit on sessions is reached.
pub(super) fn refuse_session(seen: &BodyRecord) -> Response {
    refuse_overload(seen, "Too many sessions are open: try again later")
}

/// Returns the response if the caller's limit on sessions is reached.
pub(super) fn refuse_own_session(seen: &BodyRecord) -> Response {
    let message = "This caller has too many open sessions: end one with DELETE, or try again later";
    refuse_for_now(seen, StatusCode::TOO_MANY_REQUESTS, message)
}

/// Returns the response to a client without a session while the server is stopping.
pub(super) fn refuse_shutdown(seen: &BodyRecord) -> Response {
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
pub(super) fn json() -> [(HeaderName, &'static str); 1] {
    [(CONTENT_TYPE, "application/json")]
}
