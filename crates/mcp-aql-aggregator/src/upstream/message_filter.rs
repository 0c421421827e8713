//! Filters and decodes the messages between a server and the client.
//!
//! Only answers to pending requests pass. They are decoded as the type that the request expects,
//! and errors lose their messages. All other messages are answered here or dropped.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use mcp_aql_core::internal::util::lock;
use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData,
    NumberOrString, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::message_start::parse_id;
use super::stats::Stats;
use crate::ask::display_name;

/// Maximum message size in bytes until the server is ready. Lists of tools with their schemas are
/// longer than answers.
pub(super) const MAX_START_BYTES: usize = 4 << 20;
/// Maximum number of consecutive lines other than messages. Some servers print a banner to standard
/// output.
pub(super) const MAX_NON_PROTOCOL_LINES: usize = 200;
/// The note about such lines for the operator.
pub(super) const NOT_MCP: &str =
    "the server wrote lines to standard output that are not MCP messages";
/// Maximum length in bytes for the id of a server's request. Requests with longer ids are not
/// answered.
pub(super) const MAX_ID_BYTES: usize = 100;
/// Error codes that replace an answer. Codes of servers are never passed on.
pub(super) const OF_SERVER: ErrorCode = ErrorCode(-32000);
pub(super) const UNFIT: ErrorCode = ErrorCode(1);
pub(super) const TOO_LARGE: ErrorCode = ErrorCode(2);
/// The member of `_meta` in which a decoded answer carries its size.
pub(super) const BYTES: &str = "bytes";

/// A pending request. Its kind determines how the answer is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PendingRequest {
    Initialize,
    Discover,
    Tools,
    /// A call of this tool.
    Call(String),
    Other,
}

impl PendingRequest {
    /// Returns the name of the method, or of the tool.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::Tools => "tools/list",
            Self::Call(tool) => tool,
            Self::Other => "ping",
        }
    }
}

/// The result of processing a server's message.
#[derive(Debug)]
pub(super) enum Incoming {
    /// An answer for the client.
    Answer(Box<ServerJsonRpcMessage>),
    /// A reply to a request of the server.
    Reply(Vec<u8>),
    /// A message that needs no action.
    Nothing,
    /// Not a message.
    NotAMessage,
}

/// The message filter of one connection.
#[derive(Debug)]
pub(super) struct MessageFilter {
    pub(super) stats: Arc<Stats>,
    pub(super) pending: Mutex<HashMap<i64, PendingRequest>>,
    /// Maximum size of a message in bytes.
    pub(super) max_bytes: AtomicUsize,
    /// Maximum size of an answer to a call in bytes. Lists of tools may be longer.
    pub(super) max_call_bytes: AtomicUsize,
    /// Remaining size in bytes for all pages of a list of tools together.
    pub(super) remaining_tool_bytes: AtomicUsize,
    /// If `true`, the server announces changes of its tools.
    pub(super) announces_changes: AtomicBool,
    pub(super) non_protocol_lines: AtomicUsize,
    pub(super) had_message: AtomicBool,
    pub(super) cause: OnceLock<Failure>,
    pub(super) ended: CancellationToken,
    /// If `true`, the session has expired, but the server would accept a new one.
    pub(super) expired: AtomicBool,
    pub(super) version: OnceLock<ProtocolVersion>,
    /// Notified when the server's tools have changed.
    pub(super) changed: Notify,
}

#[derive(Deserialize)]
struct Envelope<'m> {
    #[serde(borrow)]
    id: Option<&'m RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow)]
    result: Option<&'m RawValue>,
    #[serde(borrow)]
    error: Option<&'m RawValue>,
}

impl MessageFilter {
    pub(super) fn new(stats: Arc<Stats>) -> Arc<Self> {
        Arc::new(Self {
            stats,
            pending: Mutex::default(),
            max_bytes: AtomicUsize::new(MAX_START_BYTES),
            max_call_bytes: AtomicUsize::new(MAX_START_BYTES),
            remaining_tool_bytes: AtomicUsize::new(MAX_START_BYTES),
            announces_changes: AtomicBool::new(false),
            non_protocol_lines: AtomicUsize::new(0),
            had_message: AtomicBool::new(false),
            cause: OnceLock::new(),
            ended: CancellationToken::new(),
            expired: AtomicBool::new(false),
            version: OnceLock::new(),
            changed: Notify::new(),
        })
    }

    pub(super) fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<i64, PendingRequest>> {
        lock(&self.pending)
    }

    /// Returns the maximum size of a message in bytes.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes.load(Relaxed)
    }

    /// Sets the maximum size of answers to calls. No other answers are expected from here on.
    pub(super) fn set_ready(&self, max_bytes: usize) {
        self.max_call_bytes.store(max_bytes, Relaxed);
        self.max_bytes.store(max_bytes, Relaxed);
    }

    /// Allows a list of tools until the filter is ready again.
    pub(super) fn expect_tools(&self) {
        self.remaining_tool_bytes.store(MAX_START_BYTES, Relaxed);
        self.max_bytes.fetch_max(MAX_START_BYTES, Relaxed);
    }

    /// Returns `true` if the server announces changes of its tools.
    pub(super) fn announces_changes(&self) -> bool {
        self.announces_changes.load(Relaxed)
    }

    /// Returns the name of a pending request.
    pub(super) fn unanswered(&self) -> Option<String> {
        self.pending().values().next().map(|asked| asked.name().to_owned())
    }

    /// Ends the connection for this reason, unless it has already ended.
    pub(super) fn end(&self, why: Failure) {
        let _ = self.cause.set(why);
        self.ended.cancel();
    }

    /// Waits until the connection ends and returns the reason.
    pub(super) async fn ended(&self) -> Failure {
        self.ended.cancelled().await;
        self.cause().unwrap_or(Failure::Exited)
    }

    /// Returns the reason why the connection has ended.
    pub(super) fn cause(&self) -> Option<Failure> {
        self.cause.get().copied()
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expired.load(Relaxed)
    }

    /// Returns `true` if the server has sent lines, but no messages.
    pub(super) fn has_only_non_protocol_lines(&self) -> bool {
        self.non_protocol_lines.load(Relaxed) > 0 && !self.had_message.load(Relaxed)
    }

    /// Encodes a message of the client. Also returns its id if it is a request.
    pub(super) fn outgoing(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> Option<(Vec<u8>, Option<i64>)> {
        let bytes = serde_json::to_vec(message).ok()?;
        let mut asked = None;
        match message {
            ClientJsonRpcMessage::Request(request) => {
                if let RequestId::Number(id) = request.id {
                    asked = Some(id);
                    self.pending().insert(
                        id,
                        match &request.request {
                            ClientRequest::InitializeRequest(_) => PendingRequest::Initialize,
                            ClientRequest::DiscoverRequest(_) => PendingRequest::Discover,
                            ClientRequest::ListToolsRequest(_) => PendingRequest::Tools,
                            ClientRequest::CallToolRequest(call) => {
                                PendingRequest::Call(display_name(&call.params.name))
                            }
                            _ => PendingRequest::Other,
                        },
                    );
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let Some(id) = cancelled(&notification.notification) {
                    self.forget(id);
                }
            }
            _ => {}
        }
        Some((bytes, asked))
    }

    /// Drops a pending request.
    pub(super) fn forget(&self, id: i64) {
        self.pending().remove(&id);
    }

    /// Processes a message of the server.
    pub(super) fn incoming(&self, bytes: &[u8]) -> Incoming {
        let Ok(message) = serde_json::from_slice::<Envelope<'_>>(bytes) else {
            return self.count_non_protocol_line();
        };
        let found = match (message.method, message.id) {
            (Some(method), None) => {
                if method == "notifications/tools/list_changed" {
                    self.changed.notify_one();
                }
                Incoming::Nothing
            }
            (Some(method), Some(id)) => reply(&method, id.get()),
            (None, Some(id)) => match parse_id(id.get()) {
                Some(id) => self.answer(id, message.result, message.error),
                None => Incoming::Nothing,
            },
            // An error without an id does not answer any request.
            (None, None) if message.error.is_some() => Incoming::Nothing,
            (None, None) => return self.count_non_protocol_line(),
        };
        self.non_protocol_lines.store(0, Relaxed);
        self.had_message.store(true, Relaxed);
        found
    }

    fn count_non_protocol_line(&self) -> Incoming {
        if self.non_protocol_lines.fetch_add(1, Relaxed) >= MAX_NON_PROTOCOL_LINES {
            self.stats.causes.add(NOT_MCP);
            self.end(Failure::Protocol);
        }
        Incoming::NotAMessage
    }

    /// Returns the error that replaces an oversized answer.
    pub(super) fn too_large(&self, id: i64) -> Option<ServerJsonRpcMessage> {
        let asked = self.pending().remove(&id)?;
        Some(self.oversized_error(id, &asked, self.max_bytes()))
    }

    pub(super) fn oversized_error(
        &self,
        id: i64,
        asked: &PendingRequest,
        most: usize,
    ) -> ServerJsonRpcMessage {
        self.note(asked, &format!("the answer has more than {most} bytes"));
        fault(id, TOO_LARGE)
    }

    /// Records a problem for the operator.
    pub(super) fn note(&self, asked: &PendingRequest, what: &str) {
        self.stats.causes.add(&format!("{}: {what}", asked.name()));
    }

    /// Returns the pending request if there is exactly one.
    pub(super) fn only(&self) -> Option<i64> {
        let pending = self.pending();
        let mut ids = pending.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }
}

/// Removes and returns the size of an answer.
pub(super) fn bytes_of(answer: &mut CallToolResult) -> usize {
    let bytes = answer.meta.take().and_then(|meta| meta.get(BYTES).and_then(Value::as_u64));
    bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or_default()
}

/// Returns the failure behind an error of the client.
pub(super) fn failure_of(error: &ErrorData) -> Failure {
    if error.code == TOO_LARGE { Failure::TooLarge } else { Failure::Protocol }
}

pub(super) fn fault(id: i64, code: ErrorCode) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(code, "", None), Some(RequestId::Number(id)))
}

/// Returns the request that a notification cancels.
fn cancelled(notification: &ClientNotification) -> Option<i64> {
    match notification {
        ClientNotification::CancelledNotification(cancelled) => {
            match cancelled.params.request_id.as_ref()? {
                NumberOrString::Number(id) => Some(*id),
                NumberOrString::String(_) => None,
            }
        }
        _ => None,
    }
}

/// Replies to a server's request. Only pings are supported: no sampling, no elicitation, no roots.
fn reply(method: &str, id: &str) -> Incoming {
    if id.len() > MAX_ID_BYTES || id == "null" {
        return Incoming::Nothing;
    }
    Incoming::Reply(
        match method {
            "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            _ => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
            ),
        }
        .into_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams};

    use super::*;
    use crate::upstream::message_start::{MessageStart, id_at_end, message_start};

    fn asks(filter: &MessageFilter, id: i64) {
        let call = CallToolRequest::new(CallToolRequestParams::new("search"));
        let request = ClientRequest::CallToolRequest(call);
        let message = ClientJsonRpcMessage::request(request, RequestId::Number(id));
        assert_eq!(filter.outgoing(&message).unwrap().1, Some(id));
    }

    fn answer(filter: &MessageFilter, text: &str) -> ServerJsonRpcMessage {
        match filter.incoming(text.as_bytes()) {
            Incoming::Answer(answer) => *answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_pending_requests_are_answered_and_errors_lose_their_text() {
        let filter = MessageFilter::new(Arc::default());
        for (text, failure) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":2,"message":"s3cret"}}"#,
                Failure::Protocol,
            ),
            (r#"{"id":7,"error":"s3cret"}"#, Failure::Protocol),
            (r#"{"id":"7","result":["s3cret"]}"#, Failure::Protocol),
            (
                r#"{"id":7,"result":{"resultType":"input_required","content":[]}}"#,
                Failure::Protocol,
            ),
            (r#"{"id":7}"#, Failure::Protocol),
        ] {
            asks(&filter, 7);
            let found = answer(&filter, text);
            let ServerJsonRpcMessage::Error(error) = &found else { panic!("{text}") };
            assert_eq!(failure_of(&error.error), failure, "{text}");
            assert!(!format!("{found:?}").contains("s3cret"), "{text}");
        }
        asks(&filter, 8);
        let text = r#"{"result":{"content":[{"type":"text","text":"s3cret"}],"structuredContent":{"a":"s3cret"},"isError":true},"jsonrpc":"2.0","id":8}"#;
        let found = answer(&filter, text);
        assert!(!format!("{found:?}").contains("s3cret"));
        let ServerJsonRpcMessage::Response(response) = found else { panic!() };
        let rmcp::model::ServerResult::CallToolResult(mut result) = response.result else {
            panic!()
        };
        assert_eq!(result.is_error, Some(true));
        let envelope = r#"{"result":,"jsonrpc":"2.0","id":8}"#;
        assert_eq!(bytes_of(&mut result), text.len() - envelope.len());
        assert_eq!(result.meta, None);
        // The request is no longer pending.
        assert!(matches!(filter.incoming(text.as_bytes()), Incoming::Nothing));
        assert_eq!(filter.stats.late.load(Relaxed), 1);
    }

    #[test]
    fn requests_of_a_server_are_answered_and_notifications_dropped() {
        let filter = MessageFilter::new(Arc::default());
        let reply = |text: &str| match filter.incoming(text.as_bytes()) {
            Incoming::Reply(reply) => serde_json::from_slice::<Value>(&reply).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            reply(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            serde_json::json!({"jsonrpc": "2.0", "id": "a", "result": {}})
        );
        for method in ["sampling/createMessage", "elicitation/create", "roots/list"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
            assert_eq!(reply(&text)["error"]["code"], -32601);
        }
        let text = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
        assert!(matches!(filter.incoming(text.as_bytes()), Incoming::Nothing));
    }

    #[test]
    fn non_protocol_lines_are_tolerated_up_to_a_limit() {
        let filter = MessageFilter::new(Arc::default());
        for text in ["hello", "[]", "{}", "{\"id\":1,\"id\":2}", "\u{0}", "7", "{\"id\":"] {
            assert!(matches!(filter.incoming(text.as_bytes()), Incoming::NotAMessage), "{text}");
        }
        assert!(filter.has_only_non_protocol_lines());
        assert_eq!(filter.cause(), None);
        (0..MAX_NON_PROTOCOL_LINES).for_each(|_| drop(filter.incoming(b"x")));
        assert_eq!(filter.cause(), Some(Failure::Protocol));
    }

    #[test]
    fn ids_of_oversized_messages_are_found_at_either_end() {
        let start = |text: &str| message_start(text.as_bytes());
        let answer = MessageStart::Answer;
        assert_eq!(start(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"#), answer(7));
        assert_eq!(start(r#" { "id" : "12" , "result""#), answer(12));
        assert_eq!(start(r#"{"result":{"id":9,"#), MessageStart::Unknown);
        assert_eq!(
            start(r#"{"jsonrpc":"2.0","method":"x","params":{"id":9"#),
            MessageStart::Method
        );
        assert_eq!(
            start(r#"{"jsonrpc":"2.0","id":9,"method":"x","params":{"#),
            MessageStart::Method
        );
        for text in [
            "",
            "{",
            "{\"",
            "{\"id\":",
            "{\"id\":7",
            "{\"a\":\"",
            "{\"a\":1 2",
            "[1,2",
            "{\"a\":\"b\"}",
        ] {
            assert_eq!(start(text), MessageStart::Unknown, "{text}");
        }
        let end = |text: &str| id_at_end(text.as_bytes());
        assert_eq!(end(r#"x"}],"id":5},"jsonrpc":"2.0","id":2}"#), Some(2));
        assert_eq!(end("5},\"id\" : 3, \"jsonrpc\":\"2.0\" }\r"), Some(3));
        // This id is inside the result.
        assert_eq!(end(r#""id":5,"a":{}}}"#), None);
        assert_eq!(end(r#""id":5}}"#), None);
        for text in ["", "}", "\"id\"}", "\"id\":}", "\"id\":x}"] {
            assert_eq!(end(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_message_causes_a_panic(text in r#"([\[\]{}",:0-9a-z\\ -]|"id":|"result":|"error":|"method":|"content":\[|null){0,40}"#) {
            let filter = MessageFilter::new(Arc::default());
            asks(&filter, 1);
            drop(filter.incoming(text.as_bytes()));
            let _ = message_start(text.as_bytes());
            let _ = id_at_end(text.as_bytes());
            drop(filter.incoming(format!("{{\"id\":1,\"result\":{text}}}").as_bytes()));
        }
    }
}
