//! Guards HTTP request bodies: size, time and encoding. Rejected requests get the same errors as
//! over any other transport.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::value::RawValue;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::accept::resolve_wildcards;
use super::batch_budget::BatchBudget;
use super::body_budget::{BodyBudget, BodyShare};
use super::body_record::BodyRecord;
use super::direct::{DirectCalls, events};
use super::server::{OriginalMessage, Server};
use super::sessions::{SessionProblem, observe_session};
use super::wire::{
    Fault, IdScanner, LONG_BATCH, MAX_BATCH_MESSAGES, Message, Refusal, ToolCall, decode,
    fail_with, long_id, splice, too_long,
};
use crate::request::{parse, readable, too_large};
use crate::sync::lock;

/// The multiple of the maximum body length up to which an overlong body is read and discarded, to
/// find the request's id.
const MAX_SKIPPED_FACTOR: usize = 4;
/// The `Retry-After` of a client that was refused a session or buffer space, in seconds.
const RETRY_AFTER_SECONDS: &str = "10";
/// The first code that JSON-RPC reserves for servers: too many sessions, or too many bytes.
const SERVER_OVERLOADED: i32 = -32000;

/// The state for checking and rejecting requests.
#[derive(Clone)]
pub(super) struct BodyGuard {
    direct: Arc<DirectCalls>,
    longest: usize,
    client_timeout: Duration,
    budget: Arc<BodyBudget>,
}

/// A body that records its bytes as they are read. It fails if it is not complete in time or if the
/// budget is exhausted.
///
/// No byte is yielded before the body is complete or longer than `longest`: a reader would collect a
/// copy of its own, which the budget does not count. The bytes are copied out of hyper's buffers,
/// because a short piece would keep a whole buffer in memory.
struct RecordedBody {
    body: Body,
    longest: usize,
    /// The bytes that were received and not yet yielded.
    received: Vec<u8>,
    /// Set once the end of the body was received.
    is_complete: bool,
    seen: Arc<Mutex<BodyRecord>>,
    share: Arc<BodyShare>,
    until: Instant,
    /// The deadline, created on the first poll.
    limit: Option<Pin<Box<Sleep>>>,
    aborted: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl RecordedBody {
    /// Wraps a request's body so that its bytes are recorded.
    fn request(
        request: Request,
        longest: usize,
        client_timeout: Duration,
        budget: &Arc<BodyBudget>,
    ) -> (Request, Arc<Mutex<BodyRecord>>) {
        let share = Arc::new(budget.share());
        let seen = BodyRecord { _share: Some(Arc::clone(&share)), ..BodyRecord::default() };
        let seen = Arc::new(Mutex::new(seen));
        let noting = Arc::clone(&seen);
        let until = Instant::now() + client_timeout;
        let note = |body| Self {
            body,
            longest,
            received: Vec::new(),
            is_complete: false,
            seen: noting,
            share,
            until,
            limit: None,
            aborted: None,
        };
        (request.map(|body| Body::new(note(body))), seen)
    }

    /// Records the received bytes and returns them.
    fn record(&mut self) -> Option<Bytes> {
        if self.received.is_empty() {
            return None;
        }
        let piece = Bytes::from(std::mem::take(&mut self.received));
        lock(&self.seen).pieces.push(piece.clone());
        Some(piece)
    }

    /// Records the end of the body.
    fn end(&mut self, late: bool, is_aborted: bool) -> Option<Bytes> {
        self.is_complete = true;
        let piece = self.record();
        let mut seen = lock(&self.seen);
        (seen.ended, seen.late, seen.is_aborted) = (true, late, is_aborted);
        self.share.complete();
        piece
    }

    /// Whether the deadline has passed, and whether the request was aborted to make space.
    fn poll_end(&mut self, context: &mut Context<'_>) -> (bool, bool) {
        let until = self.until;
        let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        let late = limit.as_mut().poll(context).is_ready();
        let aborted = self
            .aborted
            .get_or_insert_with(|| Box::pin(self.share.aborted().clone().cancelled_owned()));
        (late, aborted.as_mut().poll(context).is_ready())
    }
}

impl HttpBody for RecordedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        loop {
            if self.is_complete {
                return Poll::Ready(None);
            }
            let mut is_aborted = self.share.aborted().is_cancelled();
            let mut late = false;
            let frame = match is_aborted {
                true => Poll::Pending,
                false => Pin::new(&mut self.body).poll_frame(context),
            };
            if frame.is_pending() && !is_aborted {
                (late, is_aborted) = self.poll_end(context);
            }
            if let Poll::Ready(Some(Ok(frame))) = &frame {
                is_aborted = !self.share.add(frame.data_ref().map_or(0, Bytes::len));
            }
            if late || is_aborted {
                self.end(late, is_aborted);
                use std::io::ErrorKind::{OutOfMemory, TimedOut};
                let kind = if late { TimedOut } else { OutOfMemory };
                return Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(kind)))));
            }
            let piece = match frame {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(error))) => {
                    self.end(false, false);
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.received.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                    (self.received.len() > self.longest).then(|| self.record()).flatten()
                }
                Poll::Ready(None) => self.end(false, false),
            };
            if let Some(piece) = piece {
                return Poll::Ready(Some(Ok(http_body::Frame::data(piece))));
            }
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.body);
        lock(&self.seen).rest = Some(rest);
    }
}

/// Rewrites a request for rmcp, if its id is a number that rmcp cannot represent, or if it is a tool
/// call whose arguments contain values that rmcp's parser rejects. The call itself is decoded from
/// the original bytes: an invalid value fails its own operation, and the other operations of a batch
/// run.
///
/// Also returns whether the id was replaced.
fn rewrite_for_rmcp(mut head: Parts, body: &[u8]) -> Option<(Request, bool)> {
    let arguments = match decode(body) {
        Message::Call(ToolCall { arguments: Some(arguments), .. }) => match readable(arguments) {
            Cow::Owned(readable) => splice(body, arguments, &readable),
            Cow::Borrowed(_) => None,
        },
        _ => None,
    };
    let id = long_id::shorten(arguments.as_deref().unwrap_or(body));
    let has_other_id = id.is_some();
    let body_for_rmcp = id.or(arguments)?;
    if !matches!(head.extensions.get(), Some(OriginalMessage::Batched(..))) {
        head.extensions.insert(OriginalMessage::Line(body.into()));
    }
    Some((Request::from_parts(head, Body::from(body_for_rmcp)), has_other_id))
}

/// Passes a request to rmcp, and passes it again in a rewritten form if rmcp could not parse it or
/// parsed it as a notification.
async fn forward_to_rmcp(
    request: Request,
    next: Next,
    sent: impl FnOnce() -> Bytes,
) -> (Response, SessionProblem) {
    let (head, body) = request.into_parts();
    let (second_head, second_next) = (head.clone(), next.clone());
    let first = observe_session(next.run(Request::from_parts(head, body))).await;
    if !matches!(first.0.status(), StatusCode::ACCEPTED | StatusCode::UNSUPPORTED_MEDIA_TYPE) {
        return first;
    }
    match rewrite_for_rmcp(second_head, &sent()) {
        Some((request, has_other_id)) => {
            let (response, observed) = observe_session(second_next.run(request)).await;
            (if has_other_id { with_original_ids(response) } else { response }, observed)
        }
        None => first,
    }
}

/// Restores the ids that were shortened for rmcp.
fn with_original_ids(response: Response) -> Response {
    response.map(|body| Body::from_stream(body.into_data_stream().map_ok(long_id::restore)))
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
        if request.method() == Method::DELETE {
            let (response, noticed) = observe_session(next.run(request)).await;
            let unknown = noticed.unknown_session && response.status() == StatusCode::ACCEPTED;
            // The same answer as for requests of an unknown session.
            let not_found = (StatusCode::NOT_FOUND, "Not Found: Session not found");
            return if unknown { not_found.into_response() } else { response };
        }
        if request.method() == Method::GET && request.headers().contains_key("last-event-id") {
            let (response, noticed) = observe_session(next.run(request)).await;
            if noticed.unknown_event {
                let unknown = "Bad Request: Last-Event-ID names no event that is kept";
                return (StatusCode::BAD_REQUEST, unknown).into_response();
            }
            return with_original_ids(response);
        }
        if request.method() != Method::POST {
            return next.run(request).await;
        }
        let modern = newest(request.headers());
        let until = Instant::now() + guard.client_timeout;
        let (mut request, seen) =
            RecordedBody::request(request, guard.longest, guard.client_timeout, &guard.budget);
        request.extensions_mut().insert(OriginalMessage::Body(Arc::clone(&seen)));
        let form = guard.direct.form(&request, guard.longest);
        let takes_batches = guard.direct.takes_batches(request.headers());
        if form.is_some() || takes_batches {
            let (head, body) = request.into_parts();
            let Ok(body) = axum::body::to_bytes(body, guard.longest).await else {
                let seen = std::mem::take(&mut *lock(&seen));
                let length: usize = seen.pieces.iter().map(Bytes::len).sum();
                return match length > guard.longest {
                    true => guard.refuse_long(seen, modern, until).await,
                    false => refuse_broken(&seen),
                };
            };
            if takes_batches && let Message::Batch(messages) = decode(&body) {
                return guard.batch(&head, &messages, next).await;
            }
            match form.and_then(|form| guard.direct.answer(&form, &body, None)) {
                Some(answer) => {
                    // The operation may run for long, and these are not needed again.
                    drop((head, body, seen));
                    return answer.await;
                }
                None => request = Request::from_parts(head, Body::from(body)),
            }
        }
        let (response, noticed) = forward_to_rmcp(request, next, || lock(&seen).read()).await;
        let status = response.status();
        if !matches!(
            status,
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
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => guard.refuse_long(seen, modern, until).await,
            StatusCode::INTERNAL_SERVER_ERROR if noticed.no_session => refuse_session(&seen),
            StatusCode::INTERNAL_SERVER_ERROR => refuse_unfinished(&seen).unwrap_or(response),
            _ => guard.refuse(&seen.read(), modern),
        }
    }

    /// Answers a JSON-RPC batch as if each message had arrived in its own request: with a list of
    /// answers, or with all events if one of the messages is answered by events.
    async fn batch(&self, head: &Parts, messages: &[&RawValue], next: Next) -> Response {
        if messages.len() > MAX_BATCH_MESSAGES {
            let mut body = Vec::new();
            fail_with(&mut body, None, -32600, LONG_BATCH);
            return (StatusCode::BAD_REQUEST, json(), body).into_response();
        }
        let room = self.server().batch_budget();
        let responses =
            messages.iter().map(|message| self.message(head, message.get(), &next, &room));
        let (mut answers, mut streams) = (Vec::new(), Vec::new());
        for response in join_all(responses).await {
            let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            match (response.status(), kind) {
                (StatusCode::ACCEPTED, _) => {}
                (_, Some(b"application/json")) => {
                    // The batch's size limit already bounds the answers.
                    match axum::body::to_bytes(response.into_body(), usize::MAX).await {
                        Ok(answer) => answers.push(answer),
                        Err(error) => {
                            tracing::error!(%error, "an answer of a batch cannot be read");
                            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
                        }
                    }
                }
                (StatusCode::OK, Some(b"text/event-stream")) => {
                    streams.push(response.into_body().into_data_stream().left_stream());
                }
                // The headers are invalid, and all messages share them.
                _ => return response,
            }
        }
        if streams.is_empty() {
            return match answers.is_empty() {
                true => StatusCode::ACCEPTED.into_response(),
                false => (json(), [b"[", &*answers.join(&b","[..]), b"]"].concat()).into_response(),
            };
        }
        streams.extend(answers.into_iter().map(|answer| {
            let event = Bytes::from([b"data: ", &*answer, b"\n\n"].concat());
            stream::once(std::future::ready(Ok(event))).right_stream()
        }));
        events(Body::from_stream(stream::select_all(streams)))
    }

    /// Answers one message of a batch.
    async fn message(
        &self,
        head: &Parts,
        message: &str,
        next: &Next,
        room: &BatchBudget,
    ) -> Response {
        let mut request = Request::from_parts(head.clone(), Body::from(message.to_owned()));
        request.headers_mut().insert(CONTENT_LENGTH, message.len().into());
        request
            .extensions_mut()
            .insert(OriginalMessage::Batched(message.as_bytes().into(), room.clone()));
        let form = self.direct.form(&request, self.longest);
        let answer =
            form.and_then(|form| self.direct.answer(&form, message.as_bytes(), Some(room)));
        if let Some(answer) = answer {
            return answer.await;
        }
        let sent = || Bytes::copy_from_slice(message.as_bytes());
        let (response, _) = forward_to_rmcp(request, next.clone(), sent).await;
        match response.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                self.refuse(message.as_bytes(), newest(&head.headers))
            }
            _ => response,
        }
    }

    /// Reads and discards the rest of an overlong body to find the request's id (REQ-ENC-08).
    async fn refuse_long(&self, seen: BodyRecord, modern: bool, until: Instant) -> Response {
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
        self.answer(too_long(recovered, error), modern, StatusCode::PAYLOAD_TOO_LARGE)
    }

    fn refuse(&self, body: &[u8], modern: bool) -> Response {
        let refusal = match decode(body) {
            Message::Refused(refusal) => refusal,
            Message::Call(ToolCall { id, arguments, .. }) => {
                let limits = self.server().limits();
                let outcome = parse(arguments.unwrap_or("{}").as_bytes(), limits);
                let fault = outcome.err().map_or(Fault::Form, Fault::Call);
                Refusal { id: Some(id.to_owned()), fault }
            }
            Message::List { .. } | Message::Cancelled { .. } | Message::Other => {
                Refusal { id: IdScanner::of(body).id, fault: Fault::Form }
            }
            Message::Batch(_) | Message::Blank => Refusal { id: None, fault: Fault::Form },
        };
        self.answer(refusal, modern, StatusCode::BAD_REQUEST)
    }

    /// Answers with a tool result if the protocol has an error for it, otherwise with a JSON-RPC
    /// error and this status.
    fn answer(&self, refusal: Refusal, modern: bool, status: StatusCode) -> Response {
        let Refusal { id, fault } = refusal;
        let mut body = Vec::new();
        let status = match id {
            Some(id) => {
                let answer = self.server().refuse_message(fault);
                self.server().write_answer(&mut body, &id, &answer, modern);
                if answer.is_ok() { StatusCode::OK } else { status }
            }
            None => {
                let (code, message) = fault.code();
                fail_with(&mut body, None, code, message);
                status
            }
        };
        (status, json(), body).into_response()
    }
}

/// The answer to a body that ended early.
fn refuse_broken(seen: &BodyRecord) -> Response {
    // Without a timeout the client is most likely gone.
    refuse_unfinished(seen).unwrap_or_else(|| StatusCode::BAD_REQUEST.into_response())
}

/// The answer to a body that was not complete in time, or that was aborted to make space.
fn refuse_unfinished(seen: &BodyRecord) -> Option<Response> {
    if seen.late {
        let message = "Invalid request: the body was not complete in time";
        let answer = (StatusCode::REQUEST_TIMEOUT, json(), failure(seen, -32600, message));
        return Some(answer.into_response());
    }
    let message = "Too many requests are being received: try again later";
    seen.is_aborted.then(|| refuse_overload(seen, message))
}

/// The answer when the session limit is reached.
fn refuse_session(seen: &BodyRecord) -> Response {
    refuse_overload(seen, "Too many sessions are open: try again later")
}

fn refuse_overload(seen: &BodyRecord, message: &str) -> Response {
    let body = failure(seen, SERVER_OVERLOADED, message);
    let again = [(RETRY_AFTER, RETRY_AFTER_SECONDS)];
    (StatusCode::SERVICE_UNAVAILABLE, json(), again, body).into_response()
}

/// A JSON-RPC error with the id of the request, as far as it is known.
fn failure(seen: &BodyRecord, code: i32, message: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let id = IdScanner::of(&seen.read()).id;
    fail_with(&mut body, id.as_deref(), code, message);
    body
}

fn json() -> [(axum::http::HeaderName, &'static str); 1] {
    [(CONTENT_TYPE, "application/json")]
}

/// Whether a request follows MCP 2026-07-28 or later.
fn newest(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= "2026-07-28")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body that arrives in these pieces. Returns the lengths of the pieces that it yields.
    async fn lengths(pieces: Vec<Bytes>, longest: usize) -> Vec<usize> {
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        let request = Request::new(Body::from_stream(pieces));
        let budget = BodyBudget::new(1 << 20, 0);
        let (request, seen) =
            RecordedBody::request(request, longest, Duration::from_secs(60), &budget);
        let read = request.into_body().into_data_stream();
        let lengths = read.map(|piece| piece.unwrap().len()).collect::<Vec<_>>().await;
        assert_eq!(lock(&seen).read().len(), lengths.iter().sum::<usize>());
        lengths
    }

    #[tokio::test]
    async fn a_body_is_yielded_when_it_is_complete() {
        let pieces = vec![Bytes::from_static(b"abc"); 4];
        assert_eq!(lengths(pieces.clone(), 12).await, [12]);
        assert_eq!(lengths(pieces.clone(), 7).await, [9, 3], "longer than the limit");
        assert_eq!(lengths(pieces, 0).await, [3; 4]);
        assert!(lengths(Vec::new(), 12).await.is_empty());
    }

    #[tokio::test]
    async fn an_unfinished_body_holds_its_bytes_once() {
        let buffer = Bytes::from(vec![b'x'; 8 << 10]);
        let pieces: Vec<_> = (0..100).map(|at| Ok(buffer.slice(at..=at))).collect();
        let pieces = stream::iter(pieces).chain(stream::pending::<Result<_, std::io::Error>>());
        let budget = BodyBudget::new(1 << 20, 0);
        let request = Request::new(Body::from_stream(pieces));
        let client_timeout = Duration::from_millis(10);
        let (request, seen) = RecordedBody::request(request, 1 << 20, client_timeout, &budget);
        let mut body = request.into_body();
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        assert!(next.await.unwrap().is_err(), "the reader receives an error only");
        assert_eq!(lock(&seen).read().len(), 100);
        drop(body);
        lock(&seen).rest = None;
        assert!(buffer.is_unique(), "no buffer of the connection is kept");
    }
}
