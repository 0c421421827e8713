//! Records the reply to one request.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use super::EventStreams;
use super::event_id::StreamId;
use super::finished::FinishedReplies;
use super::log::EventLog;

/// How long clients wait before they reconnect after a lost connection. MCP clients try twice before they give up.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_secs(3);
/// Size that a kept reply counts in addition to its events, in bytes.
const ENTRY_BYTES: usize = 1 << 10;

/// Code of these errors. Clients use it for a lost connection.
const REPLY_LOST: ErrorCode = ErrorCode(-32000);

/// The session has ended or is unknown.
pub(crate) const SESSION_ENDED: &str = "The session of this request has ended, and its reply with it. A change may have \
                                        been made: open a new session and read the current state before repeating it";
/// The reply has expired, or it was dropped in favor of newer ones.
pub(crate) const NOT_KEPT: &str = "The reply to this request is no longer kept. A change may have been made: read the \
                                   current state before repeating it";
/// The client of a READ did not reconnect in time.
pub(crate) const ABANDONED: &str =
    "The request was cancelled, because its client did not reconnect in time: send it again";

/// Records the events of a reply.
pub(crate) struct ReplyRecord {
    log: Arc<EventLog>,
    stream: StreamId,
    call: i64,
    /// The number of the next event.
    next: usize,
    bytes: usize,
    streams: Weak<EventStreams>,
    finished: Arc<FinishedReplies>,
}

impl ReplyRecord {
    pub(super) fn new(
        log: Arc<EventLog>,
        stream: StreamId,
        call: i64,
        streams: Weak<EventStreams>,
        finished: Arc<FinishedReplies>,
    ) -> Self {
        Self { log, stream, call, next: 0, bytes: ENTRY_BYTES, streams, finished }
    }

    /// Returns the events of the reply from its start.
    pub(crate) fn events(&self) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        self.log.events_from(0)
    }

    /// Records an event and sets its id.
    pub(crate) fn push(&mut self, mut event: ServerSseMessage) {
        self.next += 1;
        let next = (!is_answer(&event)).then_some(self.next);
        event.event_id = Some(self.stream.event(next).to_string());
        self.bytes += event.message.as_deref().map_or(0, length);
        self.log.push(event);
    }

    /// Records all events of a reply, even if the client stops reading. If the events end without an answer and the
    /// client still expects one, records an error as the answer.
    pub(crate) async fn run(
        mut self,
        mut events: BoxStream<'static, ServerSseMessage>,
        id: RequestId,
        ends_call: impl FnOnce() -> bool + Send,
    ) {
        let mut is_answered = false;
        while let Some(event) = events.next().await {
            is_answered |= is_answer(&event);
            self.push(event);
        }
        if !is_answered && ends_call() {
            self.push(ServerSseMessage::from_message(lost_reply(id, SESSION_ENDED)));
        }
        self.finish();
    }

    /// Completes the reply. It is kept from now on.
    pub(crate) fn finish(self) {
        self.log.finish();
        self.finished.keep(&self.streams, self.call, self.bytes);
    }

    /// Waits until no client has read the events for this long.
    pub(crate) async fn abandoned(&self, after: Duration) {
        loop {
            self.log.unread().await;
            tokio::time::sleep(after).await;
            if !self.log.is_read() {
                return;
            }
        }
    }
}

/// Returns `true` if an event is the answer to a request.
pub(crate) fn is_answer(event: &ServerSseMessage) -> bool {
    matches!(event.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)))
}

/// Returns the length of a message as JSON.
fn length(message: &ServerJsonRpcMessage) -> usize {
    struct Length(usize);
    impl std::io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    // A message that cannot be serialized cannot be sent either, so its length does not matter.
    let _ = serde_json::to_writer(&mut length, message);
    length.0
}

/// Returns the error that answers the request with this id.
pub(crate) fn lost_reply(id: RequestId, message: &'static str) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::new(REPLY_LOST, message, None), Some(id))
}
