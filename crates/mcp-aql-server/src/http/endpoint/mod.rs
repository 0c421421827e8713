//! The endpoint of MCP: answers plain calls directly, passes all other requests to rmcp, and rejects those with invalid
//! bodies. Rejected requests receive the same errors as over all other transports.

mod batch;
mod refusal;
mod resume;

use std::convert::Infallible;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::util::{erased, lock};
use tokio::time::Instant;
use tower_service::Service;

use self::resume::LAST_EVENT_ID;
use super::body::BodyRecord;
use super::body::budget::BodyBudget;
use super::body::recorded_body::RecordedBody;
use super::body::refusal::{
    refuse_own_session, refuse_session, refuse_shutdown, refuse_unfinished,
};
use super::connections::ReplyBody;
use super::direct::{DirectCalls, SESSION_ID};
use super::request_origin::of_request;
use super::rmcp::accept::{AcceptedType, resolve_wildcards};
use super::rmcp::current_request::observe_session;
use super::rmcp::forward::forward_to_rmcp;
use super::rmcp::original_message::OriginalMessage;
use super::rmcp::server::RmcpService;
use crate::mcp::drain::{OpenReply, RETRY_AFTER_SECONDS};
use crate::mcp::message::{Message, decode_message};
use crate::mcp::server::Server;
use crate::mcp::version::is_modern;

/// Checks, answers and rejects the requests to an endpoint.
#[derive(Clone)]
pub(super) struct McpEndpoint {
    direct: Arc<DirectCalls>,
    rmcp: RmcpService,
    longest: usize,
    client_timeout: Duration,
    budget: Arc<BodyBudget>,
}

/// A request that was not answered at once.
struct Unanswered {
    request: Request,
    /// If `true`, the body was read and decoded, and only rmcp can answer the request. Otherwise the body may still
    /// contain a plain call or a batch.
    needs_rmcp: bool,
}

impl McpEndpoint {
    pub(super) fn new(
        direct: DirectCalls,
        rmcp: RmcpService,
        longest: usize,
        client_timeout: Duration,
        budget: Arc<BodyBudget>,
    ) -> Self {
        Self { direct: Arc::new(direct), rmcp, longest, client_timeout, budget }
    }

    fn server(&self) -> &Server {
        self.direct.server()
    }

    /// Answers plain calls. Passes other requests to rmcp, and replaces its bare status codes with explanatory errors.
    async fn pass(&self, request: Request) -> Response {
        let until = Instant::now() + self.client_timeout;
        if let Some(name) = repeated_header(request.headers()) {
            let problem = format!("Bad Request: the header {name} is sent more than once");
            return (StatusCode::BAD_REQUEST, problem).into_response();
        }
        if !resumes_stream(&request) && self.direct.is_foreign(&request) {
            return session_not_found();
        }
        if self.server().drain().is_draining() {
            return erased(self.pass_while_draining(request, until)).await;
        }
        self.pass_open(request, until).await
    }

    /// Handles a request while the server is stopping. Requests of sessions are passed on, and their calls are
    /// rejected. Clients without a session are rejected, because another process may be able to serve them.
    async fn pass_while_draining(&self, request: Request, until: Instant) -> Response {
        let has_session = request.headers().contains_key(SESSION_ID);
        if *request.method() != Method::POST {
            return self.pass_open(request, until).await;
        }
        if !has_session {
            let (request, seen) = RecordedBody::request(request, self.longest, until, &self.budget);
            // Read the body, because the rejection contains the id of the request.
            let _ = axum::body::to_bytes(request.into_body(), self.longest).await;
            let seen = std::mem::take(&mut *lock(&seen));
            return refuse_unfinished(&seen).unwrap_or_else(|| refuse_shutdown(&seen));
        }
        let mut response = self.pass_open(request, until).await;
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        response
    }

    async fn pass_open(&self, mut request: Request, until: Instant) -> Response {
        if *request.method() == Method::POST {
            if let Some(origin) = of_request(self.server().service(), &request) {
                request.extensions_mut().insert(origin);
            }
            let accepted = AcceptedType::of_message(request.headers_mut());
            if accepted == AcceptedType::Json {
                request.extensions_mut().insert(accepted);
            }
            let response = match self.answer_at_once(request, until).await {
                Ok(answer) => answer.await,
                // Boxing keeps the future of a plain call small.
                Err(unanswered) => erased(self.post(unanswered, until)).await,
            };
            return match accepted {
                AcceptedType::AsSent => response,
                one => erased(one.convert(response)).await,
            };
        }
        resolve_wildcards(request.headers_mut());
        match resumes_stream(&request) {
            true => self.resume_stream(request).await,
            false => self.use_session(request).await,
        }
    }

    /// Starts a plain call with a body that arrives in one piece, as nearly all do. Nothing of the body is kept, so it
    /// needs no share of the budget. Otherwise returns the request.
    async fn answer_at_once(
        &self,
        request: Request,
        until: Instant,
    ) -> Result<impl Future<Output = Response> + Send + use<>, Unanswered> {
        let unread = |request| Unanswered { request, needs_rmcp: false };
        let Some(form) = self.direct.form(&request, self.longest) else {
            return Err(unread(request));
        };
        let (mut head, mut body) = request.into_parts();
        let length = body.size_hint().exact();
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let frame = match tokio::time::timeout_at(until, frame).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => {
                // A body reports its error only once, so the error must be put back.
                let broken = Body::from_stream(stream::once(ready(Err::<Bytes, _>(error))));
                return Err(unread(Request::from_parts(head, broken)));
            }
            Ok(None) | Err(_) => return Err(unread(Request::from_parts(head, body))),
        };
        let Ok(piece) = frame.into_data() else {
            return Err(unread(Request::from_parts(head, body)));
        };
        let is_whole = length == Some(piece.len() as u64);
        // A batch is decoded by `post`, which keeps its body.
        let is_decoded = is_whole && !piece.trim_ascii_start().starts_with(b"[");
        if is_decoded
            && let Message::Call(call) = decode_message(&piece)
            && let Some(answer) = self.direct.answer(&form, call, &mut head.extensions, None)
        {
            return Ok(answer);
        }
        let rest = body.into_data_stream();
        let body = Body::from_stream(stream::once(ready(Ok(piece))).chain(rest));
        Err(Unanswered { request: Request::from_parts(head, body), needs_rmcp: is_decoded })
    }

    /// Answers a request that was not answered at once.
    async fn post(
        &self,
        Unanswered { request, needs_rmcp }: Unanswered,
        until: Instant,
    ) -> Response {
        let modern = has_modern_version(request.headers());
        let caller: Option<Principal> = request.extensions().get().cloned();
        let sender = (modern, caller.as_ref());
        let (mut request, seen) = RecordedBody::request(request, self.longest, until, &self.budget);
        request.extensions_mut().insert(OriginalMessage { text: seen.clone(), batch_budget: None });
        let form = || self.direct.form(&request, self.longest);
        let form = (!needs_rmcp).then(form).flatten();
        let takes_batches = !needs_rmcp && self.direct.takes_batches(request.headers());
        if form.is_some() || takes_batches {
            let (mut head, body) = request.into_parts();
            let Ok(body) = axum::body::to_bytes(body, self.longest).await else {
                let seen = std::mem::take(&mut *lock(&seen));
                let length: usize = seen.pieces.iter().map(Bytes::len).sum();
                return match length > self.longest {
                    true => self.refuse_long(seen, sender, until).await,
                    false => refuse_unfinished(&seen)
                        .unwrap_or_else(|| StatusCode::BAD_REQUEST.into_response()),
                };
            };
            let answer = match (decode_message(&body), form) {
                (Message::Batch(messages), _) if takes_batches => {
                    return self.batch(&head, &messages).await;
                }
                (Message::Call(call), Some(form)) => {
                    self.direct.answer(&form, call, &mut head.extensions, None)
                }
                _ => None,
            };
            match answer {
                Some(answer) => {
                    // Release the request, because the operation may run for long.
                    drop((head, body, seen));
                    return answer.await;
                }
                None => request = Request::from_parts(head, Body::from(body)),
            }
        }
        self.forward(request, &seen, sender, until).await
    }

    /// Passes a request to rmcp, and replaces its bare status codes with explanatory errors.
    async fn forward(
        &self,
        request: Request,
        seen: &Mutex<BodyRecord>,
        sender: (bool, Option<&Principal>),
        until: Instant,
    ) -> Response {
        let open = self.server().drain().hold();
        let (response, noticed) = forward_to_rmcp(request, &self.rmcp, || lock(seen).read()).await;
        if !matches!(
            response.status(),
            StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNSUPPORTED_MEDIA_TYPE
                | StatusCode::INTERNAL_SERVER_ERROR
        ) {
            return held(response, open);
        }
        let seen = std::mem::take(&mut *lock(seen));
        if seen.pieces.is_empty() && !seen.ended {
            // rmcp has rejected the headers without reading the body.
            return response;
        }
        match response.status() {
            StatusCode::PAYLOAD_TOO_LARGE => self.refuse_long(seen, sender, until).await,
            StatusCode::INTERNAL_SERVER_ERROR if noticed.no_session => refuse_session(&seen),
            StatusCode::INTERNAL_SERVER_ERROR if noticed.no_own_session => {
                refuse_own_session(&seen)
            }
            StatusCode::INTERNAL_SERVER_ERROR if noticed.unknown_session => session_not_found(),
            StatusCode::INTERNAL_SERVER_ERROR => refuse_unfinished(&seen).unwrap_or(response),
            _ => self.refuse(&seen.read(), sender),
        }
    }

    /// Ends a session, or opens its stream of events.
    async fn use_session(&self, request: Request) -> Response {
        let (response, noticed) = observe_session(None, self.rmcp.run(request)).await;
        let unnoticed = [StatusCode::ACCEPTED, StatusCode::INTERNAL_SERVER_ERROR];
        let unknown = noticed.unknown_session && unnoticed.contains(&response.status());
        if unknown { session_not_found() } else { response }
    }
}

impl Service<Request> for McpEndpoint {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let endpoint = self.clone();
        erased(async move { Ok(endpoint.pass(request).await) })
    }
}

/// Returns a header that is relevant for access control and occurs more than once. Such requests are rejected, because
/// a proxy, this server and rmcp might each use a different value (for `Host`, see RFC 9112 §3.2).
fn repeated_header(headers: &HeaderMap) -> Option<HeaderName> {
    let single = [HOST, ORIGIN, SESSION_ID];
    single.into_iter().find(|name| headers.get_all(name).iter().nth(1).is_some())
}

/// Keeps the server from stopping before a reply is sent.
fn held(response: Response, open: OpenReply) -> Response {
    response.map(|body| Body::new(ReplyBody::new(body, open)))
}

/// Returns `true` if a client wants to resume a stream of events.
fn resumes_stream(request: &Request) -> bool {
    *request.method() == Method::GET && request.headers().contains_key(LAST_EVENT_ID)
}

/// Returns the response for an unknown session. It is also used for the session of another principal, so that clients
/// cannot find out which sessions exist.
fn session_not_found() -> Response {
    (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response()
}

/// Returns `true` if the header of a request names MCP 2026-07-28 or later.
fn has_modern_version(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(is_modern)
}
