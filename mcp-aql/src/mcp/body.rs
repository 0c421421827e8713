//! HTTP bodies that rmcp turns away: whoever sent one is told what is wrong with it, as over any
//! other transport.

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
use futures_util::{StreamExt as _, stream};
use serde_json::value::RawValue;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::accept::resolve_wildcards;
use super::batch_room::BatchRoom;
use super::body_budget::{BodyBudget, BodyShare};
use super::direct::{Direct, events};
use super::server::{Sent, Server};
use super::sessions::noticing;
use super::wire::{
    Fault, LONG_BATCH, MAX_BATCH_MESSAGES, Message, Refusal, Salvage, ToolCall, decode, fail_with,
    is_short_id, too_long,
};
use crate::request::{parse, readable, too_large};
use crate::sync::lock;

/// So many times the longest body is still read, and dropped, to find out whom to answer.
const READ_ON: usize = 4;
/// The `Retry-After` of a client that was refused a session or the room for its request, in seconds.
const AGAIN: &str = "10";
/// JSON-RPC's first code for errors that a server defines: too many sessions, or too many bytes.
const OVERLOADED: i32 = -32000;

/// What refusing takes.
#[derive(Clone)]
pub(super) struct Guard {
    direct: Arc<Direct>,
    longest: usize,
    patience: Duration,
    budget: Arc<BodyBudget>,
}

/// What has been read of a body, and the rest of it once rmcp does not read any more.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pieces: Vec<Bytes>,
    rest: Option<Body>,
    ended: bool,
    late: bool,
    /// Set when the request was given up to make room for another one.
    crowded: bool,
    /// The share of the budget that its pieces take.
    _share: Option<Arc<BodyShare>>,
}

impl Seen {
    /// The bytes that have been read.
    pub(super) fn read(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// A body that records what is read of it. It fails when it is not complete in time, and when the budget is
/// exhausted.
struct Noted {
    body: Body,
    seen: Arc<Mutex<Seen>>,
    share: Arc<BodyShare>,
    until: Instant,
    /// Made when the body is first waited for.
    limit: Option<Pin<Box<Sleep>>>,
    given_up: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Noted {
    /// Notes what is read of a request's body.
    fn request(
        request: Request,
        patience: Duration,
        budget: &Arc<BodyBudget>,
    ) -> (Request, Arc<Mutex<Seen>>) {
        let share = Arc::new(budget.share());
        let seen = Seen { _share: Some(Arc::clone(&share)), ..Seen::default() };
        let seen = Arc::new(Mutex::new(seen));
        let noting = Arc::clone(&seen);
        let until = Instant::now() + patience;
        let note = |body| Self { body, seen: noting, share, until, limit: None, given_up: None };
        (request.map(|body| Body::new(note(body))), seen)
    }

    /// Whether the client's time is over, or its room was given to another one.
    fn poll_end(&mut self, context: &mut Context<'_>) -> (bool, bool) {
        let until = self.until;
        let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        let late = limit.as_mut().poll(context).is_ready();
        let given_up = self
            .given_up
            .get_or_insert_with(|| Box::pin(self.share.given_up().clone().cancelled_owned()));
        (late, given_up.as_mut().poll(context).is_ready())
    }
}

impl HttpBody for Noted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        let failed = |kind| Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(kind)))));
        let mut crowded = self.share.given_up().is_cancelled();
        let mut late = false;
        let mut frame = match crowded {
            true => Poll::Pending,
            false => Pin::new(&mut self.body).poll_frame(context),
        };
        if frame.is_pending() && !crowded {
            (late, crowded) = self.poll_end(context);
        }
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            crowded = !self.share.add(frame.data_ref().map_or(0, Bytes::len));
        }
        if late {
            frame = failed(std::io::ErrorKind::TimedOut);
        } else if crowded {
            frame = failed(std::io::ErrorKind::OutOfMemory);
        }
        let mut seen = lock(&self.seen);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => seen.pieces.extend(frame.data_ref().cloned()),
            Poll::Ready(None | Some(Err(_))) => {
                (seen.ended, seen.late, seen.crowded) = (true, late, crowded);
                self.share.complete();
            }
            Poll::Pending => {}
        }
        frame
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.body);
        lock(&self.seen).rest = Some(rest);
    }
}

/// The same request in a form that rmcp can read, if it is a tool call whose arguments have values at which
/// rmcp's parser stops. The call is still decided by the bytes as they were sent: a value refuses its
/// operation, and the other operations of a batch run.
fn readable_call(head: &Parts, body: &[u8]) -> Option<Request> {
    let Message::Call(ToolCall { arguments: Some(arguments), .. }) = decode(body) else {
        return None;
    };
    let Cow::Owned(readable) = readable(arguments) else { return None };
    let start = arguments.as_ptr().addr().checked_sub(body.as_ptr().addr())?;
    let rest = body.get(start + arguments.len()..)?;
    let body_for_rmcp = [body.get(..start)?, readable.as_bytes(), rest].concat();
    let mut request = Request::from_parts(head.clone(), Body::from(body_for_rmcp));
    request.extensions_mut().insert(Sent::Line(body.into()));
    Some(request)
}

/// Passes requests on whose bodies come to their end in time and for which there is room, or answers them.
pub(super) async fn within_bounds(
    State((patience, budget)): State<(Duration, Arc<BodyBudget>)>,
    request: Request,
    next: Next,
) -> Response {
    let (request, seen) = Noted::request(request, patience, &budget);
    let response = next.run(request).await;
    let seen = std::mem::take(&mut *lock(&seen));
    refuse_unfinished(&seen).unwrap_or(response)
}

impl Guard {
    pub(super) fn new(
        direct: Direct,
        longest: usize,
        patience: Duration,
        budget: Arc<BodyBudget>,
    ) -> Self {
        Self { direct: Arc::new(direct), longest, patience, budget }
    }

    fn server(&self) -> &Server {
        self.direct.server()
    }

    /// Answers plain calls. Of other requests it lets rmcp look at them first, and says better why where
    /// rmcp has nothing but a status.
    pub(super) async fn pass(
        State(guard): State<Self>,
        mut request: Request,
        next: Next,
    ) -> Response {
        resolve_wildcards(request.headers_mut());
        if request.method() == Method::DELETE {
            let (response, noticed) = noticing(next.run(request)).await;
            let unknown = noticed.unknown_session && response.status() == StatusCode::ACCEPTED;
            // As for requests of a session that is not there.
            let not_found = (StatusCode::NOT_FOUND, "Not Found: Session not found");
            return if unknown { not_found.into_response() } else { response };
        }
        if request.method() != Method::POST {
            return next.run(request).await;
        }
        let modern = newest(request.headers());
        let until = Instant::now() + guard.patience;
        let (mut request, seen) = Noted::request(request, guard.patience, &guard.budget);
        request.extensions_mut().insert(Sent::Body(Arc::clone(&seen)));
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
                    // An operation may take its time, and nobody looks at these again.
                    drop((head, body, seen));
                    return answer.await;
                }
                None => request = Request::from_parts(head, Body::from(body)),
            }
        }
        let (head, body) = request.into_parts();
        let second = (head.clone(), next.clone());
        let (response, noticed) = noticing(next.run(Request::from_parts(head, body))).await;
        let status = response.status();
        if status == StatusCode::ACCEPTED {
            let body = lock(&seen).read();
            return guard.refuse_lost_id(&body, modern).unwrap_or(response);
        }
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
            // The headers are at fault.
            return response;
        }
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => guard.refuse_long(seen, modern, until).await,
            StatusCode::INTERNAL_SERVER_ERROR if noticed.no_session => refuse_session(&seen),
            StatusCode::INTERNAL_SERVER_ERROR => refuse_unfinished(&seen).unwrap_or(response),
            _ => {
                let body = seen.pieces.concat();
                let (head, next) = second;
                match readable_call(&head, &body) {
                    Some(request) => next.run(request).await,
                    None => guard.refuse(&body, modern),
                }
            }
        }
    }

    /// Answers a batch of JSON-RPC as if each message had come in a request of its own: with a list of
    /// their answers, or with all their events where one of them is answered by events.
    async fn batch(&self, head: &Parts, messages: &[&RawValue], next: Next) -> Response {
        if messages.len() > MAX_BATCH_MESSAGES {
            let mut body = Vec::new();
            fail_with(&mut body, None, -32600, LONG_BATCH);
            return (StatusCode::BAD_REQUEST, json(), body).into_response();
        }
        let room = self.server().batch_room();
        let responses =
            messages.iter().map(|message| self.message(head, message.get(), &next, &room));
        let (mut answers, mut streams) = (Vec::new(), Vec::new());
        for response in join_all(responses).await {
            let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            match (response.status(), kind) {
                (StatusCode::ACCEPTED, _) => {}
                (_, Some(b"application/json")) => {
                    // The batch's room bounds the answers already.
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
                // The headers are at fault, which all messages share.
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
        room: &BatchRoom,
    ) -> Response {
        let mut request = Request::from_parts(head.clone(), Body::from(message.to_owned()));
        request.headers_mut().insert(CONTENT_LENGTH, message.len().into());
        request.extensions_mut().insert(Sent::Batched(message.as_bytes().into(), room.clone()));
        let form = self.direct.form(&request, self.longest);
        let answer =
            form.and_then(|form| self.direct.answer(&form, message.as_bytes(), Some(room)));
        if let Some(answer) = answer {
            return answer.await;
        }
        let response = next.clone().run(request).await;
        let modern = newest(&head.headers);
        match response.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => match readable_call(head, message.as_bytes()) {
                Some(request) => next.clone().run(request).await,
                None => self.refuse(message.as_bytes(), modern),
            },
            StatusCode::ACCEPTED => {
                self.refuse_lost_id(message.as_bytes(), modern).unwrap_or(response)
            }
            _ => response,
        }
    }

    /// Refuses a message that has been accepted as a notification, if it is a request: rmcp reads a request
    /// as a notification if it has no room for the id.
    fn refuse_lost_id(&self, body: &[u8], modern: bool) -> Option<Response> {
        let id = Salvage::of(body).id?;
        (!is_short_id(&id)).then(|| self.refuse(body, modern))
    }

    /// Reads on, without keeping anything, to find out whom to answer (REQ-ENC-08).
    async fn refuse_long(&self, seen: Seen, modern: bool, until: Instant) -> Response {
        let mut salvage = Salvage::default();
        let mut read = 0;
        let mut take = |piece: &[u8]| {
            salvage.read(piece);
            read += piece.len();
            read < READ_ON.saturating_mul(self.longest)
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
        let salvaged = salvage.finish();
        let limit = self.server().limits().max_request_size;
        let error = too_large("request_size", limit, salvaged.bytes, "bytes");
        self.answer(too_long(salvaged, error), modern, StatusCode::PAYLOAD_TOO_LARGE)
    }

    fn refuse(&self, body: &[u8], modern: bool) -> Response {
        let refusal = match decode(body) {
            Message::Refused(refusal) => refusal,
            Message::Call(ToolCall { id, .. }) | Message::List { id, .. } if !is_short_id(id) => {
                Refusal { id: Some(id.to_owned()), fault: Fault::Id }
            }
            Message::Call(ToolCall { id, arguments, .. }) => {
                let limits = self.server().limits();
                let outcome = parse(arguments.unwrap_or("{}").as_bytes(), limits);
                let fault = outcome.err().map_or(Fault::Form, Fault::Call);
                Refusal { id: Some(id.to_owned()), fault }
            }
            Message::List { .. } | Message::Cancelled { .. } | Message::Other => {
                Refusal { id: Salvage::of(body).id, fault: Fault::Form }
            }
            Message::Batch(_) | Message::Blank => Refusal { id: None, fault: Fault::Form },
        };
        self.answer(refusal, modern, StatusCode::BAD_REQUEST)
    }

    /// A tool's result where the protocol has an error, JSON-RPC's error with this status otherwise.
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

/// Says that a body did not come to its end.
fn refuse_broken(seen: &Seen) -> Response {
    // Otherwise its client is gone, most probably.
    refuse_unfinished(seen).unwrap_or_else(|| StatusCode::BAD_REQUEST.into_response())
}

/// The refusal of a body that was not complete in time, or that was given up to make room.
fn refuse_unfinished(seen: &Seen) -> Option<Response> {
    if seen.late {
        let message = "Invalid request: it was not sent to its end in time";
        let answer = (StatusCode::REQUEST_TIMEOUT, json(), failure(seen, -32600, message));
        return Some(answer.into_response());
    }
    let message = "Too many requests are being received: try again later";
    seen.crowded.then(|| refuse_overload(seen, message))
}

/// Says that there are as many sessions as there may be.
fn refuse_session(seen: &Seen) -> Response {
    refuse_overload(seen, "Too many sessions are open: try again later")
}

fn refuse_overload(seen: &Seen, message: &str) -> Response {
    let body = failure(seen, OVERLOADED, message);
    let again = [(RETRY_AFTER, AGAIN)];
    (StatusCode::SERVICE_UNAVAILABLE, json(), again, body).into_response()
}

/// JSON-RPC's error for whoever sent a body.
fn failure(seen: &Seen, code: i32, message: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let id = Salvage::of(&seen.pieces.concat()).id;
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
