//! Guards HTTP request bodies: size, time and encoding. Rejected requests get the same errors as
//! over any other transport.

mod batch;
mod budget;
mod record;
mod recorded_body;
mod refusal;
mod rmcp_request;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use mcp_aql_core::sync::lock;
use tokio::time::Instant;

pub(super) use self::budget::BodyBudget;
use self::recorded_body::RecordedBody;
use self::refusal::{refuse_broken, refuse_session, refuse_unfinished};
use self::rmcp_request::{forward_to_rmcp, with_original_ids};
use super::accept::resolve_wildcards;
use super::direct::DirectCalls;
use super::original_message::OriginalMessage;
use super::sessions::observe_session;
use crate::server::Server;
use crate::wire::{Message, decode};

/// The state for checking and rejecting requests.
#[derive(Clone)]
pub(super) struct BodyGuard {
    direct: Arc<DirectCalls>,
    longest: usize,
    client_timeout: Duration,
    budget: Arc<BodyBudget>,
}

/// Passes on requests whose bodies are complete in time and within the budget, and rejects the
/// others.
pub(super) async fn within_bounds(
    State((client_timeout, budget)): State<(Duration, Arc<BodyBudget>)>,
    request: Request,
    next: Next,
) -> Response {
    let (request, seen) = RecordedBody::request(request, 0, client_timeout, &budget);
    let response = next.run(request).await;
    let seen = std::mem::take(&mut *lock(&seen));
    refuse_unfinished(&seen).unwrap_or(response)
}

impl BodyGuard {
    pub(super) fn new(
        direct: DirectCalls,
        longest: usize,
        client_timeout: Duration,
        budget: Arc<BodyBudget>,
    ) -> Self {
        Self { direct: Arc::new(direct), longest, client_timeout, budget }
    }

    fn server(&self) -> &Server {
        self.direct.server()
    }

    /// Answers plain calls. Other requests go to rmcp, and its bare status codes are replaced with
    /// explanatory errors.
    pub(super) async fn pass(
        State(guard): State<Self>,
        mut request: Request,
        next: Next,
    ) -> Response {
        resolve_wildcards(request.headers_mut());
        match *request.method() {
            Method::POST => guard.post(request, next).await,
            Method::DELETE => end_session(request, next).await,
            Method::GET if request.headers().contains_key("last-event-id") => {
                resume_stream(request, next).await
            }
            _ => next.run(request).await,
        }
    }

    async fn post(&self, request: Request, next: Next) -> Response {
        let modern = is_modern(request.headers());
        let until = Instant::now() + self.client_timeout;
        let (mut request, seen) =
            RecordedBody::request(request, self.longest, self.client_timeout, &self.budget);
        request.extensions_mut().insert(OriginalMessage { text: seen.clone(), room: None });
        let form = self.direct.form(&request, self.longest);
        let takes_batches = self.direct.takes_batches(request.headers());
        if form.is_some() || takes_batches {
            let (head, body) = request.into_parts();
            let Ok(body) = axum::body::to_bytes(body, self.longest).await else {
                let seen = std::mem::take(&mut *lock(&seen));
                let length: usize = seen.pieces.iter().map(Bytes::len).sum();
                return match length > self.longest {
                    true => self.refuse_long(seen, modern, until).await,
                    false => refuse_broken(&seen),
                };
            };
            if takes_batches && let Message::Batch(messages) = decode(&body) {
                return self.batch(&head, &messages, next).await;
            }
            match form.and_then(|form| self.direct.answer(&form, &body, None)) {
                Some(answer) => {
                    // The operation may run for long, and these are not needed again.
                    drop((head, body, seen));
                    return answer.await;
                }
                None => request = Request::from_parts(head, Body::from(body)),
            }
        }
        let (response, noticed) = forward_to_rmcp(request, next, || lock(&seen).read()).await;
        if !matches!(
            response.status(),
            StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNSUPPORTED_MEDIA_TYPE
                | StatusCode::INTERNAL_SERVER_ERROR
        ) {
            return response;
        }
        let seen = std::mem::take(&mut *lock(&seen));
        if seen.pieces.is_empty() && !seen.ended {
            // The headers are invalid.
            return response;
        }
        match response.status() {
            StatusCode::PAYLOAD_TOO_LARGE => self.refuse_long(seen, modern, until).await,
            StatusCode::INTERNAL_SERVER_ERROR if noticed.no_session => refuse_session(&seen),
            StatusCode::INTERNAL_SERVER_ERROR => refuse_unfinished(&seen).unwrap_or(response),
            _ => self.refuse(&seen.read(), modern),
        }
    }
}

/// Ends a session.
async fn end_session(request: Request, next: Next) -> Response {
    let (response, noticed) = observe_session(next.run(request)).await;
    let unknown = noticed.unknown_session && response.status() == StatusCode::ACCEPTED;
    // The same answer as for requests of an unknown session.
    let not_found = (StatusCode::NOT_FOUND, "Not Found: Session not found");
    if unknown { not_found.into_response() } else { response }
}

/// Resumes a stream of events.
async fn resume_stream(request: Request, next: Next) -> Response {
    let (response, noticed) = observe_session(next.run(request)).await;
    if noticed.unknown_event {
        let unknown = "Bad Request: Last-Event-ID names no event that is kept";
        return (StatusCode::BAD_REQUEST, unknown).into_response();
    }
    with_original_ids(response)
}

/// Whether a request follows MCP 2026-07-28 or later.
fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= "2026-07-28")
}
