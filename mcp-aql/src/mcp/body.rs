//! HTTP bodies that rmcp turns away: whoever sent one is told what is wrong with it, as over any
//! other transport.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::{Instant, Sleep};

use super::direct::Direct;
use super::server::Server;
use super::sessions::noticing;
use super::wire::{
    Fault, Message, Refusal, Salvage, ToolCall, decode, fail_with, respond_with, too_long,
};
use crate::request::{parse, too_large};
use crate::sync::lock;

/// So many times the longest body is still read, and dropped, to find out whom to answer.
const READ_ON: usize = 4;
/// When a client for which there was no session may try again, in seconds.
const AGAIN: &str = "10";
/// JSON-RPC's first code for what a server makes of it: there is no session to be had.
const NO_SESSION: i32 = -32000;

/// What refusing takes.
#[derive(Clone)]
pub(super) struct Guard {
    direct: Arc<Direct>,
    longest: usize,
    patience: Duration,
}

/// What has been read of a body, and the rest of it once rmcp does not read any more.
#[derive(Default)]
struct Seen {
    pieces: Vec<Bytes>,
    rest: Option<Body>,
    ended: bool,
    late: bool,
}

/// A body that notes what is read of it, and fails when it is not there in time.
struct Noted {
    body: Body,
    seen: Arc<Mutex<Seen>>,
    until: Instant,
    /// Made when the body is first waited for.
    limit: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Noted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        let mut frame = Pin::new(&mut self.body).poll_frame(context);
        let mut late = false;
        if frame.is_pending() {
            let until = self.until;
            let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
            late = limit.as_mut().poll(context).is_ready();
            if late {
                let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
                frame = Poll::Ready(Some(Err(axum::Error::new(error))));
            }
        }
        let mut seen = lock(&self.seen);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => seen.pieces.extend(frame.data_ref().cloned()),
            Poll::Ready(None | Some(Err(_))) => (seen.ended, seen.late) = (true, late),
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

/// Passes requests on whose bodies come to their end in time, or answers them.
pub(super) async fn in_time(
    State(patience): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    let seen = Arc::<Mutex<Seen>>::default();
    let noting = Arc::clone(&seen);
    let until = Instant::now() + patience;
    let request = request.map(|body| Body::new(Noted { body, seen: noting, until, limit: None }));
    let response = next.run(request).await;
    let seen = std::mem::take(&mut *lock(&seen));
    if seen.late { refuse_late(&seen) } else { response }
}

impl Guard {
    pub(super) fn new(direct: Direct, longest: usize, patience: Duration) -> Self {
        Self { direct: Arc::new(direct), longest, patience }
    }

    fn server(&self) -> &Server {
        self.direct.server()
    }

    /// Answers plain calls. Of other requests it lets rmcp look at them first, and says better why where
    /// rmcp has nothing but a status.
    pub(super) async fn pass(State(guard): State<Self>, request: Request, next: Next) -> Response {
        if request.method() != Method::POST {
            return next.run(request).await;
        }
        let modern = newest(request.headers());
        let seen = Arc::<Mutex<Seen>>::default();
        let noting = Arc::clone(&seen);
        let until = Instant::now() + guard.patience;
        let mut request =
            request.map(|body| Body::new(Noted { body, seen: noting, until, limit: None }));
        if let Some(form) = guard.direct.form(&request, guard.longest) {
            let (head, body) = request.into_parts();
            let Ok(body) = axum::body::to_bytes(body, guard.longest).await else {
                let seen = std::mem::take(&mut *lock(&seen));
                return refuse_broken(&seen);
            };
            match guard.direct.answer(&form, &body) {
                Some(answer) => {
                    // An operation may take its time, and nobody looks at these again.
                    drop((body, seen));
                    return answer.await;
                }
                None => request = Request::from_parts(head, Body::from(body)),
            }
        }
        let (response, full) = noticing(next.run(request)).await;
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
            // The headers are at fault.
            return response;
        }
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => guard.refuse_long(seen, modern, until).await,
            StatusCode::INTERNAL_SERVER_ERROR if seen.late => refuse_late(&seen),
            StatusCode::INTERNAL_SERVER_ERROR if full => refuse_session(&seen),
            StatusCode::INTERNAL_SERVER_ERROR => response,
            _ => guard.refuse(&seen.pieces.concat(), modern),
        }
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
        let limit = self.server().adapter().limits().max_request_size;
        let error = too_large("request_size", limit, salvaged.bytes, "bytes");
        self.answer(too_long(salvaged, error), modern, StatusCode::PAYLOAD_TOO_LARGE)
    }

    fn refuse(&self, body: &[u8], modern: bool) -> Response {
        let refusal = match decode(body) {
            Message::Refused(refusal) => refusal,
            Message::Call(ToolCall { id, arguments, .. }) => {
                let limits = self.server().adapter().limits();
                let outcome = parse(arguments.unwrap_or("{}").as_bytes(), limits);
                let fault = outcome.err().map_or(Fault::Form, Fault::Call);
                Refusal { id: Some(id.to_owned()), fault }
            }
            Message::List { .. } | Message::Cancelled { .. } | Message::Other => {
                Refusal { id: Salvage::of(body).id, fault: Fault::Form }
            }
            Message::Several(_) | Message::Blank => Refusal { id: None, fault: Fault::Form },
        };
        self.answer(refusal, modern, StatusCode::BAD_REQUEST)
    }

    /// A tool's result where the protocol has an error, JSON-RPC's error with this status otherwise.
    fn answer(&self, refusal: Refusal, modern: bool, status: StatusCode) -> Response {
        let Refusal { id, fault } = refusal;
        let mut body = Vec::new();
        let status = match (fault, id) {
            (Fault::Call(error), Some(id)) => {
                let reply = self.server().refuse(error);
                respond_with(&mut body, &id, |body| {
                    self.server().write_result(body, &reply, modern)
                });
                StatusCode::OK
            }
            (fault, id) => {
                // Without an id a call is only known to be none.
                let (code, message) =
                    fault.code().unwrap_or((-32600, "Invalid request: a call needs an 'id'"));
                fail_with(&mut body, id.as_deref(), code, message);
                status
            }
        };
        (status, json(), body).into_response()
    }
}

/// Says that a body did not come to its end.
fn refuse_broken(seen: &Seen) -> Response {
    if seen.late {
        return refuse_late(seen);
    }
    // Its client is gone, most probably.
    StatusCode::BAD_REQUEST.into_response()
}

/// Says that a body did not come to its end in time.
fn refuse_late(seen: &Seen) -> Response {
    let message = "Invalid request: it was not sent to its end in time";
    (StatusCode::REQUEST_TIMEOUT, json(), failure(seen, -32600, message)).into_response()
}

/// Says that there are as many sessions as there may be.
fn refuse_session(seen: &Seen) -> Response {
    let body = failure(seen, NO_SESSION, "Too many sessions are open: try again later");
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
