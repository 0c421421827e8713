//! The way to the adapter: JSON-RPC over lines or HTTP, with every message seen as it came.
//!
//! Written out here, because a library would hide what has to be judged: members that it does not know,
//! lines that are no JSON, answers to nobody.

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
pub(crate) use tap::{Samples, Seen, Tap};

use crate::learn::Mode;

/// The version of MCP that the runner opens with.
const MCP_VERSION: &str = "2025-11-25";
/// The longest message that is read. The protocol lets a response have up to 100 MB, but our memory is
/// to stay small: beyond the default of 10 MB, and what JSON-RPC and quoting add, an adapter floods us.
pub(crate) const LONGEST_MESSAGE: usize = 24 << 20;
/// How long the other side may take to leave; then it is ended.
const LONGEST_GOOD_BYE: Duration = Duration::from_secs(2);
/// So many notifications are kept, and so many messages that nobody asked for are taken.
const MOST_UNASKED: usize = 10_000;
/// So many bytes of such messages.
const MOST_UNASKED_BYTES: usize = 2 << 20;
/// So many values one message has at most: each takes much more of our memory than of the wire, and an
/// object as much as so many others.
const MOST_VALUES: usize = 500_000;
const OBJECT: usize = 16;
/// Messages up to this length are taken whatever they hold.
const SMALL_MESSAGE: usize = 64 << 10;

/// How to reach an adapter: a command, a URL, or memory. Every connection is a session of its own.
///
/// What a target does is the runner's own affair: the trait cannot be implemented elsewhere.
pub trait Target: sealed::Way {}

pub(crate) mod sealed {
    use super::*;

    /// What a target does.
    pub trait Way: Send + Sync + fmt::Debug {
        /// Opens a connection, before any handshake. With a mode, the adapter is asked to serve in that one;
        /// without, it is taken as it is.
        fn open(&self, mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, Lost>>;

        /// Whether [`open`](Self::open) can ask for that mode.
        fn offers(&self, mode: Mode) -> bool;

        /// As a reader knows it: the command, the URL.
        fn describe(&self) -> String;

        /// What no report may show.
        fn secrets(&self) -> Vec<String> {
            Vec::new()
        }
    }
}

/// What a target opens: where messages go, and what keeps the other side alive. Messages come in through
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

/// Where messages go. Dropped, it ends the connection and whatever was started for it.
pub(crate) trait Outgoing: Send + Sync {
    /// Sends a message: a line, or the body of a request.
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), Lost>>;

    /// Leaves in good manners, within that time: closes standard input, or deletes the session.
    fn close(&self, limit: Duration) -> BoxFuture<'_, ()>;

    /// The version of MCP that was agreed on, for those who have to repeat it.
    fn agreed(&self, _version: &str) {}
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// It cannot be started or reached.
    #[error("the adapter cannot be reached: {0}")]
    Unreachable(String),
    /// The other side closed the connection.
    #[error("the adapter closed the connection: {0}")]
    Closed(String),
    /// No answer within the time limit.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// One message is longer than anybody may send.
    #[error("a message of more than {0} bytes")]
    TooLong(usize),
    /// Messages that nobody asked for, without an end.
    #[error(
        "messages that nobody asked for, without an end: more than {MOST_UNASKED} or {MOST_UNASKED_BYTES} \
         bytes"
    )]
    Flooded,
    /// One message has more values than anybody needs.
    #[error("a message of too many values: more than {0}, and an object counts as {OBJECT}")]
    TooMany(usize),
    /// HTTP refused the message.
    #[error("HTTP status {0}{hint}", hint = hint(*.0))]
    Status(u16),
    /// HTTP sends us elsewhere.
    #[error(
        "HTTP status {0}: a redirect to `{1}`, which is not followed; give that URL if you trust it"
    )]
    Redirected(u16, String),
    /// HTTP brought something else.
    #[error("the reply over HTTP is no message of MCP: {0}")]
    Unfit(String),
}

/// What to do about a status.
const fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => ": give what it wants to know with `--header` or `[headers]`",
        404 | 405 => ": there is no MCP server at this path",
        _ => "",
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) enum Answer {
    /// `result`.
    Result(Value),
    /// `error`, a fault of the transport or the protocol.
    Error {
        /// Its `code`.
        code: i64,
        /// Its `message`.
        message: String,
        /// The whole `error`.
        raw: Value,
    },
    /// Nothing.
    Lost(Lost),
}

/// What comes in, sorted by who waits for it.
#[derive(Debug)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    tap: Arc<Tap>,
    /// Answers to what the other side asks us.
    to_answer: mpsc::UnboundedSender<Value>,
    answers: Mutex<Option<mpsc::UnboundedReceiver<Value>>>,
}

#[derive(Debug, Default)]
struct InboxState {
    /// By id, as JSON: `7` and `"7"` are two.
    waiting: HashMap<String, oneshot::Sender<Value>>,
    notifications: Vec<Value>,
    /// Whether messages were sent that may be no JSON-RPC: then errors that nobody waits for are in order.
    is_raw: bool,
    /// The id of the last of them that waits for an answer: an error of no id is about that one, since who
    /// could not read it does not know its id.
    raw: Option<String>,
    /// What came since the last answer that somebody waited for.
    unasked: usize,
    unasked_bytes: usize,
    /// When that answer came.
    answered: Option<Instant>,
    ended: Option<Lost>,
}

impl Inbox {
    pub(crate) fn new(tap: Arc<Tap>) -> Arc<Self> {
        let (to_answer, answers) = mpsc::unbounded_channel();
        let answers = Mutex::new(Some(answers));
        Arc::new(Self { state: Mutex::default(), tap, to_answer, answers })
    }

    /// What is to be answered to the other side, for the one who does that.
    fn answers(&self) -> Option<mpsc::UnboundedReceiver<Value>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes a message as it came. False when no more is wanted of this connection.
    pub(crate) fn take(&self, text: &[u8]) -> bool {
        if !is_light(text) {
            self.end(Lost::TooMany(MOST_VALUES));
            return false;
        }
        let message = match std::str::from_utf8(text).map(serde_json::from_str::<Value>) {
            Ok(Ok(message)) if message.is_object() => message,
            _ => {
                self.tap.nonsense(text);
                return self.unasked(text);
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
                    (state.unasked, state.unasked_bytes) = (0, 0);
                    state.answered = Some(Instant::now());
                }
                waiting
            };
            return match waiting {
                Some(sender) => {
                    // Who asked may have stopped waiting.
                    let _ = sender.send(message);
                    true
                }
                None => {
                    if !(is_refusal && self.lock().is_raw) {
                        self.tap.to_nobody(&message);
                    }
                    self.unasked(text)
                }
            };
        }
        match (message.get("id"), message.get("method").and_then(Value::as_str)) {
            (Some(id), method) => {
                // Whoever no longer listens needs no answer.
                let _ = self.to_answer.send(answer(id, method.unwrap_or_default()));
            }
            (None, _) => {
                let mut state = self.lock();
                if state.notifications.len() < MOST_UNASKED {
                    state.notifications.push(message);
                }
            }
        }
        self.unasked(text)
    }

    /// Counts what nobody asked for. False when that is enough.
    pub(crate) fn unasked(&self, text: &[u8]) -> bool {
        let mut state = self.lock();
        state.unasked += 1;
        state.unasked_bytes += text.len();
        let goes_on = state.unasked <= MOST_UNASKED && state.unasked_bytes <= MOST_UNASKED_BYTES;
        drop(state);
        if !goes_on {
            self.end(Lost::Flooded);
        }
        goes_on
    }

    /// The connection is over. Whoever waits is told.
    pub(crate) fn end(&self, why: Lost) {
        let mut state = self.lock();
        state.ended.get_or_insert(why);
        state.waiting.clear();
    }

    pub(crate) fn ended(&self) -> Option<Lost> {
        self.lock().ended.clone()
    }

    /// Whether the request of this id still waits for its answer.
    #[cfg(feature = "http")]
    pub(crate) fn waits_for(&self, id: &str) -> bool {
        self.lock().waiting.contains_key(id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is said to a request that a client without any capability cannot answer.
fn unanswered(method: &str) -> String {
    format!("this client has no method `{method}`")
}

/// What a client without any capability answers to a request.
fn answer(id: &Value, method: &str) -> Value {
    match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => json!({ "jsonrpc": "2.0", "id": id, "error": {
            "code": -32601, "message": unanswered(method),
        } }),
    }
}

/// Sends the answers, until the connection is over.
async fn send_answers(
    mut answers: mpsc::UnboundedReceiver<Value>,
    outgoing: Weak<dyn Outgoing>,
    limit: Duration,
) {
    while let Some(answer) = answers.recv().await {
        let Some(outgoing) = outgoing.upgrade() else { return };
        // Whoever asked and does not read is found out when it is asked something.
        let _ = tokio::time::timeout(limit, outgoing.send(answer.to_string().as_bytes())).await;
    }
}

/// Whether a text has no more values than fit into our memory, if it is JSON.
pub(crate) fn is_light(text: &[u8]) -> bool {
    if text.len() <= SMALL_MESSAGE {
        return true;
    }
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' if !in_text => count += 1,
            b'{' if !in_text => count += OBJECT,
            _ => {}
        }
    }
    count <= MOST_VALUES
}

/// One connection, which is one session.
#[derive(Debug)]
pub(crate) struct Connection {
    link: Link,
    next_id: AtomicU64,
    limit: Duration,
    hello: Value,
}

impl Connection {
    /// Connects and shakes hands.
    ///
    /// # Errors
    /// [`Lost`] when the other side does not answer as an MCP server does.
    pub(crate) async fn open(
        target: &dyn Target,
        mode: Option<Mode>,
        tap: &Arc<Tap>,
        limit: Duration,
    ) -> Result<Self, Lost> {
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
                return Err(Lost::Unreachable("it sends back what it is sent".to_owned()));
            }
            Answer::Error { code, message, .. } => {
                return Err(Lost::Unreachable(format!(
                    "`initialize` was answered with the JSON-RPC error {code}: {message}"
                )));
            }
            Answer::Lost(lost) => return Err(lost),
        }
        connection.notify("notifications/initialized", json!({})).await?;
        Ok(connection)
    }

    /// Connects without a handshake.
    async fn open_raw(
        target: &dyn Target,
        mode: Option<Mode>,
        tap: &Arc<Tap>,
        limit: Duration,
    ) -> Result<Self, Lost> {
        let link = tokio::time::timeout(limit, target.open(mode, Arc::clone(tap)))
            .await
            .unwrap_or(Err(Lost::TimedOut(limit)))?;
        if let Some(answers) = link.inbox.answers() {
            tokio::spawn(send_answers(answers, Arc::downgrade(&link.outgoing), limit));
        }
        Ok(Self { link, next_id: AtomicU64::new(1), limit, hello: Value::Null })
    }

    /// What the server answered to `initialize`.
    pub(crate) fn hello(&self) -> &Value {
        &self.hello
    }

    /// Why this connection is over, if it is.
    pub(crate) fn ended(&self) -> Option<Lost> {
        self.link.inbox.ended()
    }

    /// Sends a request and waits for its answer, so long and no longer.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Answer {
        self.request_within(method, params, self.limit).await
    }

    /// The same, with a time limit of its own.
    pub(crate) async fn request_within(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Answer {
        let (id, method) = (json!(self.next_id()), json!(method));
        // By hand, for what tests limits is too large to be copied once more.
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        self.ask(&id, message.into_bytes(), limit).await
    }

    /// Sends these bytes as they are, and waits for the answer to the request of this id.
    pub(crate) async fn exchange(&self, id: &Value, message: Vec<u8>, limit: Duration) -> Answer {
        {
            let mut state = self.link.inbox.lock();
            state.is_raw = true;
            state.raw = Some(id.to_string());
        }
        self.ask(id, message, limit).await
    }

    /// Waits so long from the request on, or from any answer that came since: who serves one call after the
    /// other is not late with those that wait behind others.
    async fn ask(&self, id: &Value, message: Vec<u8>, limit: Duration) -> Answer {
        let mut since = Instant::now();
        let id = id.to_string();
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.link.inbox.lock();
            if let Some(ended) = &state.ended {
                return Answer::Lost(ended.clone());
            }
            state.waiting.insert(id, sender);
        }
        let answered = async {
            self.link.outgoing.send(&message).await?;
            drop(message);
            let gone = || Lost::Closed("while a request was waiting".to_owned());
            receiver.await.map_err(|_| self.ended().unwrap_or_else(gone))
        };
        tokio::pin!(answered);
        // Its place is kept when time is over: an answer that is late is still an answer to it.
        let outcome = loop {
            let outcome = tokio::time::timeout_at((since + limit).into(), &mut answered).await;
            let last = self.link.inbox.lock().answered;
            match last.filter(|last| outcome.is_err() && *last > since) {
                Some(last) => since = last,
                None => break outcome,
            }
        };
        match outcome {
            Err(_) => Answer::Lost(Lost::TimedOut(limit)),
            Ok(Err(lost)) => Answer::Lost(lost),
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

    /// An id that no request of ours has, for messages that are written by hand.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<(), Lost> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.put(message.to_string().as_bytes()).await
    }

    /// Sends these bytes, whatever they are; a line's end is added where messages are lines.
    pub(crate) async fn send_raw(&self, message: &[u8]) -> Result<(), Lost> {
        self.link.inbox.lock().is_raw = true;
        self.put(message).await
    }

    async fn put(&self, message: &[u8]) -> Result<(), Lost> {
        tokio::time::timeout(self.limit, self.link.outgoing.send(message))
            .await
            .unwrap_or(Err(Lost::TimedOut(self.limit)))
    }

    /// The notifications that came since this was last asked.
    pub(crate) fn take_notifications(&self) -> Vec<Value> {
        std::mem::take(&mut self.link.inbox.lock().notifications)
    }

    /// Leaves.
    pub(crate) async fn close(self) {
        self.link.outgoing.close(self.limit.min(LONGEST_GOOD_BYE)).await;
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
    fn who_answers_may_tell_much_besides() {
        let inbox = Inbox::new(Arc::default());
        let text = "x".repeat(64 << 10);
        let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": text });
        for id in 0..MOST_UNASKED_BYTES / text.len() + 10 {
            let id = id.to_string();
            let mut answer = asked(&inbox, &id);
            assert!(inbox.take(log.to_string().as_bytes()), "after {id} answers");
            let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert!(inbox.take(reply.as_bytes()));
            answer.try_recv().unwrap();
        }
        // Without an answer, there is an end.
        while inbox.take(log.to_string().as_bytes()) {}
        assert_eq!(inbox.ended(), Some(Lost::Flooded));
    }

    /// Answers nothing until it is closed.
    struct Silent;

    impl Outgoing for Silent {
        fn send<'a>(&'a self, _message: &'a [u8]) -> BoxFuture<'a, Result<(), Lost>> {
            Box::pin(async { Ok(()) })
        }

        fn close(&self, _limit: Duration) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    #[tokio::test]
    async fn who_answers_others_is_not_late() {
        let inbox = Inbox::new(Arc::default());
        let link = Link { outgoing: Arc::new(Silent), inbox: Arc::clone(&inbox) };
        let limit = Duration::from_millis(300);
        let connection = Connection { link, next_id: AtomicU64::new(1), limit, hello: Value::Null };
        let params = json!({});
        let calls = (0..5).map(|_| connection.request("tools/list", &params));
        let calls = futures_util::future::join_all(calls);
        let one_by_one = async {
            // The fifth is lost.
            for id in 1..5 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                assert!(inbox.take(reply.as_bytes()));
            }
        };
        let (answers, ()) = tokio::join!(calls, one_by_one);
        let answered = answers.iter().filter(|it| matches!(it, Answer::Result(_))).count();
        assert_eq!(answered, 4);
        assert!(matches!(answers.last(), Some(Answer::Lost(Lost::TimedOut(_)))));
    }
}
