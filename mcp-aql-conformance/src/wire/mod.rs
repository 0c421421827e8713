//! The connection to the adapter: JSON-RPC over lines or HTTP, with statistics of all messages.
//!
//! The crate has its own implementation because a library would hide faults: unknown members, lines that
//! are not JSON, and unexpected responses.

#[cfg(feature = "http")]
mod http;
mod lines;
mod modes;
mod tap;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

#[cfg(feature = "http")]
pub use http::UrlTarget;
pub use lines::{CommandTarget, MemoryTarget};
pub use modes::PerMode;
pub(crate) use tap::{MessageStatistics, Samples, Tap};

use crate::category::Mode;
use crate::json_size::{MAX_VALUES, OBJECT_WEIGHT, is_light};

/// The MCP version that the runner requests.
const MCP_VERSION: &str = "2025-11-25";
/// The maximum length of a message in bytes. The protocol allows responses of up to 100 MB, but the memory
/// of the runner is limited. This covers the default limit of 10 MB with the overhead of JSON-RPC and
/// quoting.
pub(crate) const MAX_MESSAGE_BYTES: usize = 24 << 20;
/// The time limit for the other side to close; then it is ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of kept notifications and of unrequested messages.
const MAX_UNREQUESTED: usize = 10_000;
/// The maximum size of unrequested messages, in bytes.
const MAX_UNREQUESTED_BYTES: usize = 2 << 20;
/// A way to reach an adapter: a command, a URL, or memory. Every connection is a separate session.
///
/// The trait is sealed and cannot be implemented outside this crate.
pub trait Target: sealed::Transport {}

pub(crate) mod sealed {
    use super::*;

    /// The operations of a target.
    pub trait Transport: Send + Sync + fmt::Debug {
        /// Opens a connection without the MCP handshake. With a mode, the adapter is asked to serve in that
        /// mode.
        fn open(
            &self,
            mode: Option<Mode>,
            tap: Arc<Tap>,
        ) -> BoxFuture<'_, Result<Link, NoResponse>>;

        /// Whether [`open`](Self::open) can select that mode.
        fn offers(&self, mode: Mode) -> bool;

        /// The description in reports: the command or the URL.
        fn describe(&self) -> String;

        /// The secrets that reports must not contain.
        fn secrets(&self) -> Vec<String> {
            Vec::new()
        }
    }
}

/// An open connection: the sender of messages, which keeps the other side alive. Received messages go to
/// the [`Tap`]'s inbox.
pub struct Link {
    pub(crate) outgoing: Arc<dyn Outgoing>,
    pub(crate) inbox: Arc<Inbox>,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The sending half of a connection. Dropping it closes the connection and ends processes started for it.
pub(crate) trait Outgoing: Send + Sync {
    /// Sends a message as a line or as the body of a request.
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>>;

    /// Closes standard input or deletes the session within this time limit.
    fn close(&self, limit: Duration) -> BoxFuture<'_, ()>;

    /// Sets the negotiated MCP version for transports that repeat it.
    fn agreed(&self, _version: &str) {}
}

/// Returned when a request gets no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoResponse {
    /// The adapter cannot be started or reached.
    #[error("the adapter cannot be reached: {0}")]
    Unreachable(String),
    /// The other side closed the connection.
    #[error("the adapter closed the connection: {0}")]
    Closed(String),
    /// The response did not arrive within the time limit.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// A message exceeds the maximum length.
    #[error("a message of more than {0} bytes")]
    TooLong(usize),
    /// The adapter sends too many unrequested messages.
    #[error(
        "too many unrequested messages: more than {MAX_UNREQUESTED} or {MAX_UNREQUESTED_BYTES} \
         bytes"
    )]
    Flooded,
    /// A message has too many values.
    #[error(
        "a message with too many values: more than {0}, where an object counts as {OBJECT_WEIGHT}"
    )]
    TooMany(usize),
    /// The HTTP server rejected the message.
    #[error("HTTP status {0}{hint}", hint = hint(*.0))]
    Status(u16),
    /// The HTTP server redirects to another URL.
    #[error(
        "HTTP status {0}: a redirect to `{1}`, which is not followed; use that URL if you trust it"
    )]
    Redirected(u16, String),
    /// The HTTP reply is not MCP.
    #[error("the HTTP reply is not an MCP message: {0}")]
    Unfit(String),
}

/// A hint for an HTTP status.
const fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => ": set credentials with `--header` or `[headers]`",
        404 | 405 => ": no MCP server was found at this path",
        _ => "",
    }
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) enum Answer {
    /// `result`.
    Result(Value),
    /// A JSON-RPC error.
    Error {
        /// The `code`.
        code: i64,
        /// The `message`.
        message: String,
        /// The whole `error`.
        raw: Value,
    },
    /// The request got no response.
    NoResponse(NoResponse),
}

/// The received messages, dispatched to the waiting requests.
#[derive(Debug)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    tap: Arc<Tap>,
    /// Sends requests of the other side to the task that replies.
    to_answer: mpsc::UnboundedSender<Value>,
    answers: Mutex<Option<mpsc::UnboundedReceiver<Value>>>,
}

#[derive(Debug, Default)]
struct InboxState {
    /// The waiting requests by id as JSON: `7` and `"7"` differ.
    waiting: HashMap<String, oneshot::Sender<Value>>,
    notifications: Vec<Value>,
    /// Whether malformed messages were sent, which makes unexpected errors acceptable.
    is_raw: bool,
    /// The id of the last malformed request that waits for a response. An error without an id belongs to it
    /// because the adapter could not read its id.
    raw: Option<String>,
    /// The number of unrequested messages since the last response.
    unrequested: usize,
    unasked_bytes: usize,
    /// The time of the last response.
    answered: Option<Instant>,
    ended: Option<NoResponse>,
}

impl Inbox {
    pub(crate) fn new(tap: Arc<Tap>) -> Arc<Self> {
        let (to_answer, answers) = mpsc::unbounded_channel();
        let answers = Mutex::new(Some(answers));
        Arc::new(Self { state: Mutex::default(), tap, to_answer, answers })
    }

    /// Takes the receiver of replies to the other side.
    fn answers(&self) -> Option<mpsc::UnboundedReceiver<Value>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Dispatches a received message. Returns false if the connection should be closed.
    pub(crate) fn take(&self, text: &[u8]) -> bool {
        if !is_light(text) {
            self.end(NoResponse::TooMany(MAX_VALUES));
            return false;
        }
        let message = match std::str::from_utf8(text).map(serde_json::from_str::<Value>) {
            Ok(Ok(message)) if message.is_object() => message,
            _ => {
                self.tap.invalid(text);
                return self.unrequested(text);
            }
        };
        self.tap.message(text, &message);
        let is_answer = message.get("method").is_none();
        if is_answer {
            let is_refusal = message.get("error").is_some();
            let id = message.get("id").filter(|id| !(id.is_null() && is_refusal));
            let id = id.map(Value::to_string);
            let waiting = {
                let mut state = self.lock();
                let id = id.or_else(|| state.raw.take().filter(|_| is_refusal));
                let waiting = id.and_then(|id| state.waiting.remove(&id));
                if waiting.is_some() {
                    (state.unrequested, state.unasked_bytes) = (0, 0);
                    state.answered = Some(Instant::now());
                }
                waiting
            };
            return match waiting {
                Some(sender) => {
                    // The request may have timed out.
                    let _ = sender.send(message);
                    true
                }
                None => {
                    if !(is_refusal && self.lock().is_raw) {
                        self.tap.unexpected(&message);
                    }
                    self.unrequested(text)
                }
            };
        }
        match (message.get("id"), message.get("method").and_then(Value::as_str)) {
            (Some(id), method) => {
                // The connection may be closed.
                let _ = self.to_answer.send(answer(id, method.unwrap_or_default()));
            }
            (None, _) => {
                let mut state = self.lock();
                if state.notifications.len() < MAX_UNREQUESTED {
                    state.notifications.push(message);
                }
            }
        }
        self.unrequested(text)
    }

    /// Counts an unrequested message. Returns false if the limit is exceeded.
    pub(crate) fn unrequested(&self, text: &[u8]) -> bool {
        let mut state = self.lock();
        state.unrequested += 1;
        state.unasked_bytes += text.len();
        let goes_on =
            state.unrequested <= MAX_UNREQUESTED && state.unasked_bytes <= MAX_UNREQUESTED_BYTES;
        drop(state);
        if !goes_on {
            self.end(NoResponse::Flooded);
        }
        goes_on
    }

    /// Closes the connection and reports the reason to waiting requests.
    pub(crate) fn end(&self, why: NoResponse) {
        let mut state = self.lock();
        state.ended.get_or_insert(why);
        state.waiting.clear();
    }

    pub(crate) fn ended(&self) -> Option<NoResponse> {
        self.lock().ended.clone()
    }

    /// Whether the request of this id waits for its response.
    #[cfg(feature = "http")]
    pub(crate) fn waits_for(&self, id: &str) -> bool {
        self.lock().waiting.contains_key(id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message of replies to unsupported requests.
fn unanswered(method: &str) -> String {
    format!("this client has no method `{method}`")
}

/// The reply to a request of the server, for a client without capabilities.
fn answer(id: &Value, method: &str) -> Value {
    match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => json!({ "jsonrpc": "2.0", "id": id, "error": {
            "code": -32601, "message": unanswered(method),
        } }),
    }
}

/// Sends replies until the connection closes.
async fn send_answers(
    mut answers: mpsc::UnboundedReceiver<Value>,
    outgoing: Weak<dyn Outgoing>,
    limit: Duration,
) {
    while let Some(answer) = answers.recv().await {
        let Some(outgoing) = outgoing.upgrade() else { return };
        // The connection fails later if the other side does not read.
        let _ = tokio::time::timeout(limit, outgoing.send(answer.to_string().as_bytes())).await;
    }
}

/// A connection, which is one session.
#[derive(Debug)]
pub(crate) struct Connection {
    link: Link,
    next_id: AtomicU64,
    limit: Duration,
    hello: Value,
}

impl Connection {
    /// Connects and initializes the session.
    ///
    /// # Errors
    /// [`NoResponse`] if the other side does not respond like an MCP server.
    pub(crate) async fn open(
        target: &dyn Target,
        mode: Option<Mode>,
        tap: &Arc<Tap>,
        limit: Duration,
    ) -> Result<Self, NoResponse> {
        let mut connection = Self::open_raw(target, mode, tap, limit).await?;
        let hello = json!({
            "protocolVersion": MCP_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "mcp-aql-conformance", "version": env!("CARGO_PKG_VERSION") },
        });
        match connection.request("initialize", &hello).await {
            Answer::Result(hello) => {
                if let Some(version) = hello.get("protocolVersion").and_then(Value::as_str) {
                    connection.link.outgoing.agreed(version);
                }
                connection.hello = hello;
            }
            Answer::Error { message, .. } if message == unanswered("initialize") => {
                return Err(NoResponse::Unreachable("it echoes its input".to_owned()));
            }
            Answer::Error { code, message, .. } => {
                return Err(NoResponse::Unreachable(format!(
                    "`initialize` returned the JSON-RPC error {code}: {message}"
                )));
            }
            Answer::NoResponse(lost) => return Err(lost),
        }
        connection.notify("notifications/initialized", json!({})).await?;
        Ok(connection)
    }

    /// Connects without initialization.
    async fn open_raw(
        target: &dyn Target,
        mode: Option<Mode>,
        tap: &Arc<Tap>,
        limit: Duration,
    ) -> Result<Self, NoResponse> {
        let link = tokio::time::timeout(limit, target.open(mode, Arc::clone(tap)))
            .await
            .unwrap_or(Err(NoResponse::TimedOut(limit)))?;
        if let Some(answers) = link.inbox.answers() {
            tokio::spawn(send_answers(answers, Arc::downgrade(&link.outgoing), limit));
        }
        Ok(Self { link, next_id: AtomicU64::new(1), limit, hello: Value::Null })
    }

    /// The result of `initialize`.
    pub(crate) fn hello(&self) -> &Value {
        &self.hello
    }

    /// The reason why this connection is closed, if it is.
    pub(crate) fn ended(&self) -> Option<NoResponse> {
        self.link.inbox.ended()
    }

    /// Sends a request and waits for the response within the default time limit.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Answer {
        self.request_within(method, params, self.limit).await
    }

    /// Sends a request and waits for the response within this time limit.
    pub(crate) async fn request_within(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Answer {
        let (id, method) = (json!(self.next_id()), json!(method));
        // Built as text, because copying the large parameters of limit checks would be expensive.
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        self.ask(&id, message.into_bytes(), limit).await
    }

    /// Sends raw bytes and waits for the response to the request of this id.
    pub(crate) async fn exchange(&self, id: &Value, message: Vec<u8>, limit: Duration) -> Answer {
        {
            let mut state = self.link.inbox.lock();
            state.is_raw = true;
            state.raw = Some(id.to_string());
        }
        self.ask(id, message, limit).await
    }

    /// Waits for the time limit since the request or since any later response: adapters that serve calls
    /// one after the other are not late while calls are queued.
    async fn ask(&self, id: &Value, message: Vec<u8>, limit: Duration) -> Answer {
        let mut since = Instant::now();
        let id = id.to_string();
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.link.inbox.lock();
            if let Some(ended) = &state.ended {
                return Answer::NoResponse(ended.clone());
            }
            state.waiting.insert(id, sender);
        }
        let answered = async {
            self.link.outgoing.send(&message).await?;
            drop(message);
            let gone = || NoResponse::Closed("while a request was waiting".to_owned());
            receiver.await.map_err(|_| self.ended().unwrap_or_else(gone))
        };
        tokio::pin!(answered);
        // The entry stays after a timeout because a late response is still expected.
        let outcome = loop {
            let outcome = tokio::time::timeout_at((since + limit).into(), &mut answered).await;
            let last = self.link.inbox.lock().answered;
            match last.filter(|last| outcome.is_err() && *last > since) {
                Some(last) => since = last,
                None => break outcome,
            }
        };
        match outcome {
            Err(_) => Answer::NoResponse(NoResponse::TimedOut(limit)),
            Ok(Err(lost)) => Answer::NoResponse(lost),
            Ok(Ok(mut message)) => match message.get_mut("result") {
                Some(result) => Answer::Result(result.take()),
                None => {
                    let raw = message.get("error").cloned().unwrap_or(message);
                    Answer::Error {
                        code: raw.get("code").and_then(Value::as_i64).unwrap_or_default(),
                        message: raw
                            .get("message")
                            .and_then(Value::as_str)
                            .unwrap_or_default()
                            .to_owned(),
                        raw,
                    }
                }
            },
        }
    }

    /// An unused id for manually built messages.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<(), NoResponse> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.put(message.to_string().as_bytes()).await
    }

    /// Sends raw bytes. Transports of lines add the end of the line.
    pub(crate) async fn send_raw(&self, message: &[u8]) -> Result<(), NoResponse> {
        self.link.inbox.lock().is_raw = true;
        self.put(message).await
    }

    async fn put(&self, message: &[u8]) -> Result<(), NoResponse> {
        tokio::time::timeout(self.limit, self.link.outgoing.send(message))
            .await
            .unwrap_or(Err(NoResponse::TimedOut(self.limit)))
    }

    /// Takes the notifications received since the last call.
    pub(crate) fn take_notifications(&self) -> Vec<Value> {
        std::mem::take(&mut self.link.inbox.lock().notifications)
    }

    /// Closes the connection.
    pub(crate) async fn close(self) {
        self.link.outgoing.close(self.limit.min(CLOSE_TIMEOUT)).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    fn asked(inbox: &Inbox, id: &str) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        inbox.lock().waiting.insert(id.to_owned(), sender);
        receiver
    }

    #[test]
    fn notifications_between_responses_are_not_limited() {
        let inbox = Inbox::new(Arc::default());
        let text = "x".repeat(64 << 10);
        let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": text });
        for id in 0..MAX_UNREQUESTED_BYTES / text.len() + 10 {
            let id = id.to_string();
            let mut answer = asked(&inbox, &id);
            assert!(inbox.take(log.to_string().as_bytes()), "after {id} answers");
            let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert!(inbox.take(reply.as_bytes()));
            answer.try_recv().unwrap();
        }
        // Without responses, the limit applies.
        while inbox.take(log.to_string().as_bytes()) {}
        assert_eq!(inbox.ended(), Some(NoResponse::Flooded));
    }

    /// A connection without responses that never closes.
    struct Silent;

    impl Outgoing for Silent {
        fn send<'a>(&'a self, _message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>> {
            Box::pin(async { Ok(()) })
        }

        fn close(&self, _limit: Duration) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    #[tokio::test]
    async fn responses_to_other_requests_extend_the_time_limit() {
        let inbox = Inbox::new(Arc::default());
        let link = Link { outgoing: Arc::new(Silent), inbox: Arc::clone(&inbox) };
        let limit = Duration::from_millis(300);
        let connection = Connection { link, next_id: AtomicU64::new(1), limit, hello: Value::Null };
        let params = json!({});
        let calls = (0..5).map(|_| connection.request("tools/list", &params));
        let calls = futures_util::future::join_all(calls);
        let one_by_one = async {
            // The fifth request gets no response.
            for id in 1..5 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                assert!(inbox.take(reply.as_bytes()));
            }
        };
        let (answers, ()) = tokio::join!(calls, one_by_one);
        let answered = answers.iter().filter(|it| matches!(it, Answer::Result(_))).count();
        assert_eq!(answered, 4);
        assert!(matches!(answers.last(), Some(Answer::NoResponse(NoResponse::TimedOut(_)))));
    }
}
