//! Converts messages and events of sessions between rmcp's form and this server's.

use std::sync::Arc;

use futures_util::{Stream, StreamExt as _, future, stream};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    CustomNotification, JsonRpcMessage, RequestId,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use super::replay::{RETRY_INTERVAL, StreamId, is_answer};

/// Replaces the id of an answer with the id of its request.
pub(super) fn identify(event: &mut ServerSseMessage, id: &RequestId) {
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
pub(super) fn cancelled_request(number: i64) -> ClientJsonRpcMessage {
    let param = CancelledNotificationParam::new(Some(RequestId::Number(number)), None);
    let cancelled = CancelledNotification::new(param);
    JsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled))
}

/// Returns a message without effect. It notifies rmcp that the session is in use.
pub(super) fn in_use() -> ClientJsonRpcMessage {
    let nothing = CustomNotification::new("notifications/mcp_aql/in_use", None);
    JsonRpcMessage::notification(ClientNotification::CustomNotification(nothing))
}

/// Returns the events that belong to no request, with ids of this stream.
///
/// Answers are removed, because MCP does not allow them in this stream. rmcp sends one here if its request is canceled
/// at the same moment.
pub(super) fn standalone_events(
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
pub(super) fn new_events(
    stream: StreamId,
    has_first: bool,
    events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let first = || ServerSseMessage::priming(stream.event(Some(0)).to_string(), RETRY_INTERVAL);
    stream::iter(has_first.then(first)).chain(standalone_events(stream, events))
}
