//! What goes between a server and the client: only answers to what was asked come in, decoded as what they
//! have to be, without any text of a fault. What comes beside them is answered here, or dropped.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ClientNotification, ClientRequest, ContentBlock,
    DiscoverResult, EmptyResult, ErrorCode, ErrorData, Implementation, InitializeResult,
    ListToolsResult, MetaObject, NumberOrString, ProtocolVersion, RequestId, ServerCapabilities,
    ServerJsonRpcMessage, ServerResult,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::stats::Stats;
use crate::ask::told_name;

/// What a server may send before it is ready: lists of tools with their schemas are longer than answers.
const MOST_AT_START: usize = 4 << 20;
/// So many lines in a row that are no messages are borne: some servers greet on standard output.
const MOST_GARBAGE: usize = 200;
/// What is told of them to whoever checks the configuration.
pub(super) const NOT_MCP: &str = "what it writes to standard output is not MCP";
/// Ids of requests of a server: longer ones get no answer.
const LONGEST_ID: usize = 100;
/// Faults of our own in the place of an answer. Codes of servers are never let through.
const OF_SERVER: ErrorCode = ErrorCode(-32000);
const UNFIT: ErrorCode = ErrorCode(1);
const TOO_LARGE: ErrorCode = ErrorCode(2);
/// Where an answer says how many bytes it had.
const BYTES: &str = "bytes";

/// What is asked, which says how its answer has to look.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Initialize,
    Discover,
    Tools,
    /// Of this tool.
    Call(String),
    Other,
}

impl Asked {
    /// As the protocol, or the server, calls it.
    fn name(&self) -> &str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::Tools => "tools/list",
            Self::Call(tool) => tool,
            Self::Other => "ping",
        }
    }
}

/// What a message of the server comes to.
#[derive(Debug)]
pub(super) enum Incoming {
    /// An answer for the client.
    Answer(Box<ServerJsonRpcMessage>),
    /// A request, which gets this reply.
    Reply(Vec<u8>),
    /// Nothing anybody waits for.
    Nothing,
    /// No message at all.
    Garbage,
}

/// One connection's mail.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) stats: Arc<Stats>,
    pending: Mutex<HashMap<i64, Asked>>,
    /// Messages beyond it are dropped.
    most_bytes: AtomicUsize,
    /// The same of answers to calls, while lists of tools may be longer.
    most_of_calls: AtomicUsize,
    /// What all pages of a list of tools may still have together.
    left_of_tools: AtomicUsize,
    /// The server says when its tools change.
    tells_changes: AtomicBool,
    garbage: AtomicUsize,
    had_message: AtomicBool,
    cause: OnceLock<Failure>,
    ended: CancellationToken,
    /// Whether the session is over, and another one would be served.
    expired: AtomicBool,
    version: OnceLock<ProtocolVersion>,
    /// The server's tools have changed.
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

impl Mail {
    pub(super) fn new(stats: Arc<Stats>) -> Arc<Self> {
        Arc::new(Self {
            stats,
            pending: Mutex::default(),
            most_bytes: AtomicUsize::new(MOST_AT_START),
            most_of_calls: AtomicUsize::new(MOST_AT_START),
            left_of_tools: AtomicUsize::new(MOST_AT_START),
            tells_changes: AtomicBool::new(false),
            garbage: AtomicUsize::new(0),
            had_message: AtomicBool::new(false),
            cause: OnceLock::new(),
            ended: CancellationToken::new(),
            expired: AtomicBool::new(false),
            version: OnceLock::new(),
            changed: Notify::new(),
        })
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Asked>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So long may a message be.
    pub(super) fn most_bytes(&self) -> usize {
        self.most_bytes.load(Relaxed)
    }

    /// From now on, answers are to calls, and may be so long.
    pub(super) fn is_ready(&self, most_bytes: usize) {
        self.most_of_calls.store(most_bytes, Relaxed);
        self.most_bytes.store(most_bytes, Relaxed);
    }

    /// Until it is ready again, a list of tools is read.
    pub(super) fn learns(&self) {
        self.left_of_tools.store(MOST_AT_START, Relaxed);
        self.most_bytes.fetch_max(MOST_AT_START, Relaxed);
    }

    /// Whether the server says when its tools change.
    pub(super) fn tells_changes(&self) -> bool {
        self.tells_changes.load(Relaxed)
    }

    /// What is asked and not answered yet.
    pub(super) fn unanswered(&self) -> Option<String> {
        self.pending().values().next().map(|asked| asked.name().to_owned())
    }

    /// The connection is over, for this reason, unless there was one before.
    pub(super) fn end(&self, why: Failure) {
        let _ = self.cause.set(why);
        self.ended.cancel();
    }

    /// Waits for the end of the connection.
    pub(super) async fn ended(&self) -> Failure {
        self.ended.cancelled().await;
        self.cause().unwrap_or(Failure::Exited)
    }

    /// Why the connection is over.
    pub(super) fn cause(&self) -> Option<Failure> {
        self.cause.get().copied()
    }

    /// The server knows nothing of the session any more.
    #[cfg(feature = "http")]
    pub(super) fn expire(&self) {
        self.expired.store(true, Relaxed);
        self.end(Failure::Exited);
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expired.load(Relaxed)
    }

    /// Whether there was nothing but garbage so far.
    pub(super) fn is_all_garbage(&self) -> bool {
        self.garbage.load(Relaxed) > 0 && !self.had_message.load(Relaxed)
    }

    /// The version that was agreed upon.
    #[cfg(feature = "http")]
    pub(super) fn version(&self) -> Option<&ProtocolVersion> {
        self.version.get()
    }

    /// A message of the client in bytes, and the request that it is, if it is one.
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
                            ClientRequest::InitializeRequest(_) => Asked::Initialize,
                            ClientRequest::DiscoverRequest(_) => Asked::Discover,
                            ClientRequest::ListToolsRequest(_) => Asked::Tools,
                            ClientRequest::CallToolRequest(call) => {
                                Asked::Call(told_name(&call.params.name))
                            }
                            _ => Asked::Other,
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

    /// Nobody waits for this answer any more.
    pub(super) fn forget(&self, id: i64) {
        self.pending().remove(&id);
    }

    /// Whether the answer to this request is still to come.
    #[cfg(feature = "http")]
    pub(super) fn waits_for(&self, id: i64) -> bool {
        self.pending().contains_key(&id)
    }

    /// What a message is.
    pub(super) fn incoming(&self, bytes: &[u8]) -> Incoming {
        let Ok(message) = serde_json::from_slice::<Envelope<'_>>(bytes) else {
            return self.count_garbage();
        };
        let found = match (message.method, message.id) {
            (Some(method), None) => {
                if method == "notifications/tools/list_changed" {
                    self.changed.notify_one();
                }
                Incoming::Nothing
            }
            (Some(method), Some(id)) => reply(&method, id.get()),
            (None, Some(id)) => match number(id.get()) {
                Some(id) => self.answer(id, message.result, message.error),
                None => Incoming::Nothing,
            },
            // An error that says not to what is no answer to anything.
            (None, None) if message.error.is_some() => Incoming::Nothing,
            (None, None) => return self.count_garbage(),
        };
        self.garbage.store(0, Relaxed);
        self.had_message.store(true, Relaxed);
        found
    }

    fn count_garbage(&self) -> Incoming {
        if self.garbage.fetch_add(1, Relaxed) >= MOST_GARBAGE {
            self.stats.notes.add(NOT_MCP);
            self.end(Failure::Protocol);
        }
        Incoming::Garbage
    }

    /// The answer is longer than it may be: what is told in its place.
    pub(super) fn too_large(&self, id: i64) -> Option<ServerJsonRpcMessage> {
        let asked = self.pending().remove(&id)?;
        Some(self.is_too_large(id, &asked, self.most_bytes()))
    }

    fn is_too_large(&self, id: i64, asked: &Asked, most: usize) -> ServerJsonRpcMessage {
        self.note(asked, &format!("it sent more than {most} bytes"));
        fault(id, TOO_LARGE)
    }

    /// For whoever checks the configuration.
    fn note(&self, asked: &Asked, what: &str) {
        self.stats.notes.add(&format!("{}: {what}", asked.name()));
    }

    /// The same of a request that has no answer.
    #[cfg(feature = "http")]
    pub(super) fn note_of(&self, id: Option<i64>, what: &str) {
        let asked = id.and_then(|id| self.pending().get(&id).cloned());
        match asked {
            Some(asked) => self.note(&asked, what),
            None => self.stats.notes.add(what),
        }
    }

    /// The request that waits, if it is only one.
    pub(super) fn only(&self) -> Option<i64> {
        let pending = self.pending();
        let mut ids = pending.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    fn answer(&self, id: i64, result: Option<&RawValue>, error: Option<&RawValue>) -> Incoming {
        let Some(asked) = self.pending().remove(&id) else {
            Stats::count(&self.stats.late, 1);
            return Incoming::Nothing;
        };
        let unfit = |what: &str| {
            self.note(&asked, what);
            fault(id, UNFIT)
        };
        let answer = match (result, error) {
            (_, Some(error)) => self.refusal(id, &asked, error),
            (Some(result), None) => match self.exceeds(&asked, result.get().len()) {
                Some(most) => self.is_too_large(id, &asked, most),
                None => match self.decode(&asked, result.get()) {
                    Some(result) => ServerJsonRpcMessage::response(result, RequestId::Number(id)),
                    None => unfit("its answer is not what MCP has there"),
                },
            },
            (None, None) => unfit("its answer has neither a result nor an error"),
        };
        Incoming::Answer(Box::new(answer))
    }

    /// The bound that such an answer of this length exceeds.
    fn exceeds(&self, asked: &Asked, length: usize) -> Option<usize> {
        match asked {
            Asked::Call(_) => {
                let most = self.most_of_calls.load(Relaxed);
                // The whole message is what is measured elsewhere: that was short enough.
                (length > most).then_some(most)
            }
            Asked::Tools => {
                let left = self.left_of_tools.load(Relaxed);
                self.left_of_tools.store(left.saturating_sub(length), Relaxed);
                (length > left).then_some(MOST_AT_START)
            }
            _ => None,
        }
    }

    fn decode(&self, asked: &Asked, result: &str) -> Option<ServerResult> {
        Some(match asked {
            Asked::Initialize => {
                let mut told: InitializeResult = serde_json::from_str(result).ok()?;
                if !ProtocolVersion::KNOWN_VERSIONS.contains(&told.protocol_version) {
                    return None;
                }
                let _ = self.version.set(told.protocol_version.clone());
                self.has(&told.capabilities);
                // The client would log it.
                told.server_info = Implementation::new("", "");
                told.capabilities = ServerCapabilities::default();
                told.instructions = None;
                told.meta = None;
                ServerResult::InitializeResult(told)
            }
            Asked::Discover => {
                let mut told: DiscoverResult = serde_json::from_str(result).ok()?;
                let known =
                    |version: &ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(version);
                told.supported_versions.retain(known);
                self.has(&told.capabilities);
                told.capabilities = ServerCapabilities::default();
                told.instructions = None;
                told.meta = None;
                ServerResult::DiscoverResult(told)
            }
            Asked::Tools => {
                let mut told: ListToolsResult = serde_json::from_str(result).ok()?;
                // What nobody looks for shall not be kept for all pages.
                for tool in &mut told.tools {
                    tool.title = None;
                    tool.output_schema = None;
                    tool.icons = None;
                    tool.meta = None;
                }
                told.meta = None;
                ServerResult::ListToolsResult(told)
            }
            Asked::Call(_) => {
                let mut told = call_result(result)?;
                if told.is_error == Some(true) {
                    self.failed(asked, &told);
                    told.content.clear();
                    told.structured_content = None;
                }
                let mut meta = MetaObject::default();
                // Without the envelope: the same answer has the same bytes, whatever its id is.
                meta.insert(BYTES.to_owned(), result.len().into());
                told.meta = Some(meta);
                ServerResult::CallToolResult(told)
            }
            Asked::Other => ServerResult::EmptyResult(EmptyResult {}),
        })
    }

    fn has(&self, capabilities: &ServerCapabilities) {
        let tools = capabilities.tools.as_ref();
        let tells = tools.is_some_and(|tools| tools.list_changed == Some(true));
        self.tells_changes.store(tells, Relaxed);
    }

    /// Notes what a tool says of its failure.
    fn failed(&self, asked: &Asked, told: &CallToolResult) {
        let text = told.content.iter().find_map(|block| block.as_text());
        match (text, &told.structured_content) {
            (Some(text), _) => self.note(asked, &text.text),
            (None, Some(value)) => self.note(asked, &value.to_string()),
            (None, None) => self.note(asked, "it says that it failed, and not why"),
        }
    }

    /// An error in the place of an answer, without its text; of the choice of a version, the client needs
    /// what it says.
    fn refusal(&self, id: i64, asked: &Asked, error: &RawValue) -> ServerJsonRpcMessage {
        #[derive(Deserialize)]
        struct Told {
            code: i32,
            message: Option<String>,
            data: Option<Value>,
        }
        let Ok(told) = serde_json::from_str::<Told>(error.get()) else {
            self.note(asked, "a JSON-RPC error without a code");
            return fault(id, OF_SERVER);
        };
        let message = told.message.unwrap_or_default();
        self.note(asked, &format!("JSON-RPC error {}: {message}", told.code));
        if *asked == Asked::Discover {
            let is_of_version = ErrorCode(told.code) == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
            let data = told.data.filter(|_| is_of_version);
            let error = ErrorData::new(ErrorCode(told.code), "", data);
            return ServerJsonRpcMessage::error(error, Some(RequestId::Number(id)));
        }
        fault(id, OF_SERVER)
    }
}

/// How many bytes an answer had.
pub(super) fn bytes_of(answer: &mut CallToolResult) -> usize {
    let bytes = answer.meta.take().and_then(|meta| meta.get(BYTES).and_then(Value::as_u64));
    bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or_default()
}

/// What an error that the client hands on comes from.
pub(super) fn failure_of(error: &ErrorData) -> Failure {
    if error.code == TOO_LARGE { Failure::TooLarge } else { Failure::Protocol }
}

fn fault(id: i64, code: ErrorCode) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(code, "", None), Some(RequestId::Number(id)))
}

/// The result of a call. Blocks of a type that is not known here are no reason to lose the others.
fn call_result(result: &str) -> Option<CallToolResult> {
    if let Ok(told) = serde_json::from_str(result) {
        return Some(told);
    }
    let mut told: Value = serde_json::from_str(result).ok()?;
    for block in told.get_mut("content")?.as_array_mut()? {
        if serde_json::from_value::<ContentBlock>(block.clone()).is_err() {
            // Counted like a picture: as left out.
            *block = serde_json::to_value(ContentBlock::image("", "")).ok()?;
        }
    }
    serde_json::from_value(told).ok()
}

/// The request that a notification cancels.
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

/// The id of an answer; some servers make text of it.
fn number(id: &str) -> Option<i64> {
    id.trim_matches('"').parse().ok()
}

/// Pings are answered. There is nothing else a server could ask: no sampling, no questions to a person, no
/// files.
fn reply(method: &str, id: &str) -> Incoming {
    if id.len() > LONGEST_ID || id == "null" {
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

/// What a message is of which only the beginning is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// An answer, whose id is written before what is long.
    Answer(i64),
    /// A request, or a notification: no answer.
    Method,
    /// Not known yet.
    Open,
}

/// What a message begins as.
pub(super) fn begins(bytes: &[u8]) -> Begins {
    first_of(bytes).unwrap_or(Begins::Open)
}

fn first_of(bytes: &[u8]) -> Option<Begins> {
    let mut rest = bytes.trim_ascii_start().strip_prefix(b"{")?;
    loop {
        rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        let (name, after) = rest.split_at(end);
        let after = after.strip_prefix(b"\"")?.trim_ascii_start().strip_prefix(b":")?;
        if name == b"method" {
            return Some(Begins::Method);
        }
        let after = after.trim_ascii_start();
        // Only members that are short come before: texts without escapes, and numbers.
        let end = match after.split_first()? {
            (b'"', text) => text.iter().position(|byte| *byte == b'"')?.checked_add(2)?,
            (b'-' | b'0'..=b'9', _) => after.iter().position(|byte| b", \t}".contains(byte))?,
            _ => return None,
        };
        let (value, after) = after.split_at_checked(end)?;
        rest = after.trim_ascii_start().strip_prefix(b",")?;
        if name == b"id" {
            let id = number(std::str::from_utf8(value).ok()?)?;
            // A request of the server has an id, too.
            let is_request = rest.trim_ascii_start().starts_with(b"\"method\"");
            return Some(if is_request { Begins::Method } else { Begins::Answer(id) });
        }
    }
}

/// The id of an answer of which only the end is known.
pub(super) fn id_at_end(bytes: &[u8]) -> Option<i64> {
    let bytes = bytes.trim_ascii_end().strip_suffix(b"}")?;
    let at = memchr::memmem::rfind(bytes, b"\"id\"")?;
    let rest = bytes.get(at + 4..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii();
    // Followed by nothing, or by a version, which may be the last.
    let end = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
    let (value, after) = rest.split_at_checked(end)?;
    if memchr::memmem::find(after, b"{").is_some() || memchr::memmem::find(after, b"}").is_some() {
        return None;
    }
    number(std::str::from_utf8(value.trim_ascii()).ok()?)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams};

    use super::*;

    fn asks(mail: &Mail, id: i64) {
        let call = CallToolRequest::new(CallToolRequestParams::new("search"));
        let request = ClientRequest::CallToolRequest(call);
        let message = ClientJsonRpcMessage::request(request, RequestId::Number(id));
        assert_eq!(mail.outgoing(&message).unwrap().1, Some(id));
    }

    fn answer(mail: &Mail, text: &str) -> ServerJsonRpcMessage {
        match mail.incoming(text.as_bytes()) {
            Incoming::Answer(answer) => *answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn answers_come_to_whoever_asked_and_errors_without_their_text() {
        let mail = Mail::new(Arc::default());
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
            asks(&mail, 7);
            let found = answer(&mail, text);
            let ServerJsonRpcMessage::Error(error) = &found else { panic!("{text}") };
            assert_eq!(failure_of(&error.error), failure, "{text}");
            assert!(!format!("{found:?}").contains("s3cret"), "{text}");
        }
        asks(&mail, 8);
        let text = r#"{"result":{"content":[{"type":"text","text":"s3cret"}],"structuredContent":{"a":"s3cret"},"isError":true},"jsonrpc":"2.0","id":8}"#;
        let found = answer(&mail, text);
        assert!(!format!("{found:?}").contains("s3cret"));
        let ServerJsonRpcMessage::Response(response) = found else { panic!() };
        let ServerResult::CallToolResult(mut result) = response.result else { panic!() };
        assert_eq!(result.is_error, Some(true));
        let envelope = r#"{"result":,"jsonrpc":"2.0","id":8}"#;
        assert_eq!(bytes_of(&mut result), text.len() - envelope.len());
        assert_eq!(result.meta, None);
        // Nobody asked.
        assert!(matches!(mail.incoming(text.as_bytes()), Incoming::Nothing));
        assert_eq!(mail.stats.late.load(Relaxed), 1);
    }

    #[test]
    fn requests_of_a_server_are_answered_and_notifications_dropped() {
        let mail = Mail::new(Arc::default());
        let reply = |text: &str| match mail.incoming(text.as_bytes()) {
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
        assert!(matches!(mail.incoming(text.as_bytes()), Incoming::Nothing));
    }

    #[test]
    fn garbage_is_borne_for_a_while() {
        let mail = Mail::new(Arc::default());
        for text in ["hello", "[]", "{}", "{\"id\":1,\"id\":2}", "\u{0}", "7", "{\"id\":"] {
            assert!(matches!(mail.incoming(text.as_bytes()), Incoming::Garbage), "{text}");
        }
        assert!(mail.is_all_garbage());
        assert_eq!(mail.cause(), None);
        (0..MOST_GARBAGE).for_each(|_| drop(mail.incoming(b"x")));
        assert_eq!(mail.cause(), Some(Failure::Protocol));
    }

    #[test]
    fn ids_of_what_is_too_long_are_found_at_either_end() {
        let start = |text: &str| begins(text.as_bytes());
        let answer = Begins::Answer;
        assert_eq!(start(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"#), answer(7));
        assert_eq!(start(r#" { "id" : "12" , "result""#), answer(12));
        assert_eq!(start(r#"{"result":{"id":9,"#), Begins::Open);
        assert_eq!(start(r#"{"jsonrpc":"2.0","method":"x","params":{"id":9"#), Begins::Method);
        assert_eq!(start(r#"{"jsonrpc":"2.0","id":9,"method":"x","params":{"#), Begins::Method);
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
            assert_eq!(start(text), Begins::Open, "{text}");
        }
        let end = |text: &str| id_at_end(text.as_bytes());
        assert_eq!(end(r#"x"}],"id":5},"jsonrpc":"2.0","id":2}"#), Some(2));
        assert_eq!(end("5},\"id\" : 3, \"jsonrpc\":\"2.0\" }\r"), Some(3));
        // That id is inside of the result.
        assert_eq!(end(r#""id":5,"a":{}}}"#), None);
        assert_eq!(end(r#""id":5}}"#), None);
        for text in ["", "}", "\"id\"}", "\"id\":}", "\"id\":x}"] {
            assert_eq!(end(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_message_does_harm(text in r#"([\[\]{}",:0-9a-z\\ -]|"id":|"result":|"error":|"method":|"content":\[|null){0,40}"#) {
            let mail = Mail::new(Arc::default());
            asks(&mail, 1);
            drop(mail.incoming(text.as_bytes()));
            let _ = begins(text.as_bytes());
            let _ = id_at_end(text.as_bytes());
            drop(mail.incoming(format!("{{\"id\":1,\"result\":{text}}}").as_bytes()));
        }
    }
}
