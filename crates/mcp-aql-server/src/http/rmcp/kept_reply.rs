//! Keeps the replies to calls that are answered directly, so that clients can resume their streams. rmcp only keeps
//! replies to requests that it has decoded.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use mcp_aql_core::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{CustomResult, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::Value;

use super::events::event_text;
use super::open_session::{OpenSession, SessionCall};
use super::replay::{ABANDONED, NOT_KEPT, RETRY_INTERVAL, ReplyRecord, lost_reply};
use super::session_usage::counted;

/// How long a READ continues without a client. Clients that reconnect usually do so much earlier.
const RECONNECT_GRACE_PERIOD: Duration = Duration::from_secs(30);

/// Records the reply to a request of a session on demand, so that the client can fetch it later.
pub(crate) struct SessionReply {
    session: Arc<OpenSession>,
    id: Arc<str>,
    number: i64,
}

impl SessionReply {
    pub(crate) fn of(call: &SessionCall) -> Self {
        Self { session: Arc::clone(&call.session), id: Arc::clone(&call.id), number: call.number }
    }

    /// Starts to record the reply. Also returns the events of the reply. Reading them counts as a use of the session.
    /// The first one only contains an id, unless the client does not support such events.
    ///
    /// Returns `None` if the session was evicted, or if rmcp cannot represent the id.
    pub(crate) fn record(self) -> Option<(ReplyRecorder, BoxStream<'static, Bytes>)> {
        let id = serde_json::from_str(&self.id).ok()?;
        let read = self.session.usage.begin()?;
        let mut record = self.session.streams.record(self.number, &self.id);
        let text = |event: ServerSseMessage| {
            event_text(event.event_id.as_deref(), event.message.as_deref(), event.retry)
        };
        let events = counted(record.events(), read).map(text).boxed();
        if self.session.takes_empty_events() {
            record.push(ServerSseMessage::retry(RETRY_INTERVAL));
        }
        Some((ReplyRecorder { record, id }, events))
    }
}

/// Records the reply to a READ.
pub(crate) struct ReplyRecorder {
    record: ReplyRecord,
    id: RequestId,
}

impl ReplyRecorder {
    /// Waits for the reply and records it. Returns early if the client is disconnected for too long, so that the caller
    /// cancels the READ.
    pub(crate) async fn record(mut self, reply: &mut BoxFuture<'static, Option<Vec<u8>>>) {
        let id = self.id;
        let message = tokio::select! {
            biased;
            reply = reply => reply.map(|reply| message(&reply, id)),
            () = self.record.abandoned(RECONNECT_GRACE_PERIOD) => Some(lost_reply(id, ABANDONED)),
        };
        if let Some(message) = message {
            self.record.push(ServerSseMessage::from_message(message));
        }
        self.record.finish();
    }
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
