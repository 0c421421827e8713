//! Events in the form of rmcp and of this server, and messages for rmcp's sessions.
//!
//! rmcp routes answers by the ids of requests, but clients may use an id twice. Its event ids do not contain the
//! request, so a client could not be told that a reply is lost.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _, future, stream};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    CustomNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use super::replay::{RETRY_INTERVAL, StreamId, is_answer};

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Replaces the id of an answer with the id of its request.
pub(crate) fn identify(event: &mut ServerSseMessage, id: &RequestId) {
    if !is_answer(event) {
        return;
    }
    match event.message.as_mut().map(Arc::make_mut) {
        Some(JsonRpcMessage::Response(response)) => response.id = id.clone(),
        Some(JsonRpcMessage::Error(error)) => error.id = Some(id.clone()),
        _ => {}
    }
}

/// Returns the message that cancels the request with this number in rmcp.
pub(crate) fn cancelled_request(number: i64) -> ClientJsonRpcMessage {
    let param = CancelledNotificationParam::new(Some(RequestId::Number(number)), None);
    let cancelled = CancelledNotification::new(param);
    JsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled))
}

/// Returns a message without effect. It notifies rmcp that the session is in use.
pub(crate) fn in_use() -> ClientJsonRpcMessage {
    let nothing = CustomNotification::new("notifications/mcp_aql/in_use", None);
    JsonRpcMessage::notification(ClientNotification::CustomNotification(nothing))
}

/// Returns the events that belong to no request, with ids of this stream.
///
/// Answers are removed, because MCP does not allow them in this stream. rmcp sends one here if its request is canceled
/// at the same moment.
pub(crate) fn standalone_events(
    stream: StreamId,
    events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    events.filter(|event| future::ready(!is_answer(event))).map(move |mut event| {
        let number = event.event_id.as_deref().and_then(|number| number.parse::<usize>().ok());
        event.event_id = number.map(|number| stream.event(Some(number + 1)).to_string());
        event
    })
}

/// Returns [`standalone_events`] for a client without any of them. If `has_first` is `true`, the stream
/// starts with an event without a message.
pub(crate) fn new_events(
    stream: StreamId,
    has_first: bool,
    events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let first = || ServerSseMessage::priming(stream.event(Some(0)).to_string(), RETRY_INTERVAL);
    stream::iter(has_first.then(first)).chain(standalone_events(stream, events))
}

/// Returns a response with events.
pub(crate) fn events(body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
        // Disables buffering in proxies, because it would delay the keep-alive comments.
        (BUFFERING, "no"),
    ];
    (headers, body).into_response()
}

/// Formats an event.
///
/// ```text
/// data: {"jsonrpc":"2.0","id":7,"result":{}}
/// id: …
/// retry: 3000
/// ```
pub(crate) fn event_text(
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
