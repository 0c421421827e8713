//! The replies to plain calls: JSON, or events if the call takes long.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::operation::Cancellation;
use rmcp::ErrorData;
use rmcp::model::{CustomResult, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::Value;
use tokio::time::{Interval, interval};

use super::authentication::Challenge;
use super::lost_reply::{ABANDONED, NOT_KEPT, lost_reply};
use super::open_session::SessionReply;
use super::replay::{RETRY_INTERVAL, ReplyRecord};

/// How long to wait before a reply is sent as an event stream. The stream has keep-alive comments, because proxies may
/// close idle connections.
const EVENT_STREAM_DELAY: Duration = Duration::from_secs(2);
/// Interval between keep-alive comments.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// How long a READ continues without a client. Clients that reconnect usually do so much earlier.
const RECONNECT_GRACE_PERIOD: Duration = Duration::from_secs(30);

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A running call.
pub(super) struct PendingReply {
    /// The reply as a JSON-RPC message, or `None` if the client has canceled the request.
    pub(super) reply: BoxFuture<'static, Option<Vec<u8>>>,
    /// Cancels the call when the client disconnects.
    pub(super) _cancels: CancelOnDrop,
    /// Recorder for the reply, if the client can fetch the reply after a lost connection.
    pub(super) kept: Option<SessionReply>,
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

/// Waits for a reply. If the caller lacks a scope, adds the challenge to obtain it.
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
        Err(_late) => events(Body::from_stream(late_reply(work))),
    }
}

pub(super) fn events(body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
        // Disables buffering in proxies, because it would delay the keep-alive comments.
        (BUFFERING, "no"),
    ];
    (headers, body).into_response()
}

/// Returns the events of a reply that takes long. If the reply can be fetched later, it is recorded, and the first
/// event only contains an id. Clients that do not support such events receive the reply only.
fn late_reply(mut work: PendingReply) -> KeepAliveEvents {
    let kept = work.kept.take();
    let has_first = kept.as_ref().is_some_and(SessionReply::takes_empty_events);
    let events = match kept.and_then(|kept| kept.record()) {
        Some((mut record, events, id)) => {
            let text = |event: ServerSseMessage| {
                event_text(event.event_id.as_deref(), event.message.as_deref(), event.retry)
            };
            let events = events.map(text).boxed();
            if has_first {
                record.push(ServerSseMessage::retry(RETRY_INTERVAL));
            }
            tokio::spawn(record_reply(work, record, id));
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

/// Records the reply to a READ. Cancels the READ if its client is disconnected for too long.
async fn record_reply(mut work: PendingReply, mut record: ReplyRecord, id: RequestId) {
    let message = tokio::select! {
        biased;
        reply = &mut work.reply => reply.map(|reply| message(&reply, id)),
        () = record.abandoned(RECONNECT_GRACE_PERIOD) => Some(lost_reply(id, ABANDONED)),
    };
    if let Some(message) = message {
        record.push(ServerSseMessage::from_message(message));
    }
    record.finish();
}

/// Converts a reply into a message of rmcp, for clients that resume its stream.
fn message(reply: &[u8], id: RequestId) -> ServerJsonRpcMessage {
    #[derive(serde::Deserialize)]
    struct Answer {
        result: Option<Value>,
        error: Option<ErrorData>,
    }
    match serde_json::from_slice(reply) {
        Ok(Answer { result: Some(result), error: None }) => {
            JsonRpcMessage::response(ServerResult::CustomResult(CustomResult(result)), id)
        }
        Ok(Answer { error: Some(error), .. }) => JsonRpcMessage::error(error, Some(id)),
        other => {
            tracing::error!(error = ?other.err(), "a reply cannot be kept");
            lost_reply(id, NOT_KEPT)
        }
    }
}

/// Formats an event.
///
/// ```text
/// data: {"jsonrpc":"2.0","id":7,"result":{}}
/// id: …
/// retry: 3000
/// ```
pub(super) fn event_text(
    id: Option<&str>,
    message: Option<&ServerJsonRpcMessage>,
    retry: Option<Duration>,
) -> Bytes {
    // The JSON contains no line breaks.
    let message = message.and_then(|message| serde_json::to_string(message).ok());
    let mut text = format!("data: {}\n", message.unwrap_or_default());
    if let Some(id) = id {
        text.push_str(&format!("id: {id}\n"));
    }
    if let Some(retry) = retry {
        text.push_str(&format!("retry: {}\n", retry.as_millis()));
    }
    text.push('\n');
    text.into()
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
