//! The replies to plain calls: JSON, or events if the call takes long.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use mcp_aql_core::BoxFuture;
use tokio::time::{Interval, interval};

use super::authentication::Challenge;
use super::cancellation::CancelOnDrop;
use super::rmcp::events::events;
use super::rmcp::kept_reply::SessionReply;

/// How long to wait before a reply is sent as an event stream. The stream has keep-alive comments, because proxies may
/// close idle connections.
const EVENT_STREAM_DELAY: Duration = Duration::from_secs(2);
/// Interval between keep-alive comments.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A running call.
pub(super) struct DirectReply {
    /// The reply as a JSON-RPC message, or `None` if the client has canceled the request.
    pub(super) reply: BoxFuture<'static, Option<Vec<u8>>>,
    /// Cancels the call when the client disconnects.
    pub(super) _cancels: CancelOnDrop,
    /// Recorder for the reply, if the client can fetch the reply after a lost connection.
    pub(super) kept: Option<SessionReply>,
}

/// Waits for a reply. If the caller lacks a scope, adds the challenge to obtain it.
pub(super) async fn respond(work: DirectReply, challenge: Option<(Challenge, String)>) -> Response {
    let response = reply_or_events(work).await;
    match challenge {
        Some((challenge, scope)) => challenge.insufficient_scope(response, &scope),
        None => response,
    }
}

/// Waits for a reply, and switches to events if it takes long.
async fn reply_or_events(mut work: DirectReply) -> Response {
    match tokio::time::timeout(EVENT_STREAM_DELAY, &mut work.reply).await {
        Ok(Some(reply)) => ([(CONTENT_TYPE, "application/json")], reply).into_response(),
        Ok(None) => events(Body::empty()),
        Err(_late) => events(Body::from_stream(late_reply(work))),
    }
}

/// Returns the events of a reply that takes long. If the reply can be fetched later, it is recorded, and the first
/// event only contains an id. Clients that do not support such events receive the reply only.
fn late_reply(mut work: DirectReply) -> KeepAliveEvents {
    let kept = work.kept.take();
    let events = match kept.and_then(SessionReply::record) {
        Some((recorder, events)) => {
            tokio::spawn(async move {
                recorder.record(&mut work.reply).await;
                drop(work);
            });
            events
        }
        None => {
            let reply = async move {
                // Move the whole call into the future, so that dropping the stream cancels the call.
                let work = &mut work;
                work.reply
                    .as_mut()
                    .await
                    .map(|reply| [b"data: ".as_slice(), &reply, b"\n\n"].concat())
            };
            futures_util::stream::once(reply)
                .filter_map(std::future::ready)
                .map(Bytes::from)
                .boxed()
        }
    };
    KeepAliveEvents { events, pulse: interval(KEEP_ALIVE_INTERVAL) }
}

/// A stream of events with keep-alive comments in between.
struct KeepAliveEvents {
    events: BoxStream<'static, Bytes>,
    pulse: Interval,
}

impl Stream for KeepAliveEvents {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(event) = self.events.poll_next_unpin(context) {
            return Poll::Ready(event.map(Ok));
        }
        self.pulse.poll_tick(context).map(|_| Some(Ok(Bytes::from_static(b":\n\n"))))
    }
}
