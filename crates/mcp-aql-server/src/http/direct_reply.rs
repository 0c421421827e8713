//! The replies to plain calls: JSON, or events if the call takes long.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::{FutureExt as _, Stream};
use mcp_aql_core::future::BoxFuture;
use mcp_aql_core::operation::Cancellation;
use tokio::time::{Interval, interval};

use super::authentication::Challenge;

/// The time after which a reply is sent as an event stream with keep-alive comments. Proxies may
/// close a connection without traffic.
const EVENT_STREAM_DELAY: Duration = Duration::from_secs(2);
/// The interval between keep-alive comments.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A running call.
pub(super) struct PendingReply {
    /// The reply as a JSON-RPC message, or `None` if the client has cancelled the request.
    pub(super) reply: BoxFuture<'static, Option<Vec<u8>>>,
    /// Cancels the call when the client is gone.
    pub(super) _cancels: CancelOnDrop,
}

/// Cancels a call when it is dropped.
pub(super) struct CancelOnDrop(pub(super) Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if !self.0.is_unused() {
            self.0.cancel();
        }
    }
}

/// Waits for a reply, and adds the challenge to obtain the scope that the caller lacks, if it lacks one.
pub(super) async fn respond(
    work: PendingReply,
    challenge: Option<(Challenge, String)>,
) -> Response {
    let response = reply_or_events(work).await;
    match challenge {
        Some((challenge, scope)) => challenge.insufficient_scope(response, &scope),
        None => response,
    }
}

/// Waits for a reply, and switches to events if it takes long.
async fn reply_or_events(mut work: PendingReply) -> Response {
    match tokio::time::timeout(EVENT_STREAM_DELAY, &mut work.reply).await {
        Ok(Some(reply)) => ([(CONTENT_TYPE, "application/json")], reply).into_response(),
        Ok(None) => events(Body::empty()),
        Err(_late) => events(Body::from_stream(KeepAliveEvents {
            work: Some(work),
            pulse: interval(KEEP_ALIVE_INTERVAL),
        })),
    }
}

pub(super) fn events(body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
        // Disables buffering by proxies, which would hold back the keep-alive comments.
        (BUFFERING, "no"),
    ];
    (headers, body).into_response()
}

/// A stream of keep-alive comments that ends with the reply.
struct KeepAliveEvents {
    work: Option<PendingReply>,
    pulse: Interval,
}

impl Stream for KeepAliveEvents {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if let Poll::Ready(reply) = work.reply.poll_unpin(context) {
            self.work = None;
            let event = reply.map(|reply| {
                // The message has no line breaks.
                Ok(Bytes::from([b"data: ".as_slice(), &reply, b"\n\n"].concat()))
            });
            return Poll::Ready(event);
        }
        self.pulse.poll_tick(context).map(|_| Some(Ok(Bytes::from_static(b":\n\n"))))
    }
}
