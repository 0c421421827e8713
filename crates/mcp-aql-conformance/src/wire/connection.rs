//! A connection to the adapter: the session, and its requests and responses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::inbox::{Inbox, unanswered};
use super::{Link, NoResponse, Outgoing, Tap, Target};
use crate::category::Mode;

/// The MCP version that the runner requests.
const MCP_VERSION: &str = "2025-11-25";
/// Factor for the time limit of the first request, because the adapter may still be starting.
const START_FACTOR: u32 = 3;

/// Time limit for the other side to close. It is ended afterwards.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The response to a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The `result` member.
    Result(Value),
    /// A JSON-RPC error.
    Error {
        /// The `code` member.
        code: i64,
        /// The `message` member.
        message: String,
        /// The whole `error` member.
        raw: Value,
    },
    /// The request got no response.
    NoResponse(NoResponse),
}

impl Answer {
    fn of(mut message: Value) -> Self {
        if let Some(result) = message.get_mut("result") {
            return Self::Result(result.take());
        }
        let raw = message.get("error").cloned().unwrap_or(message);
        let text = raw.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self::Error {
            code: raw.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: text,
            raw,
        }
    }
}

/// Sends replies to requests of the other side until the connection closes.
async fn send_answers(
    mut answers: mpsc::UnboundedReceiver<Value>,
    outgoing: Weak<dyn Outgoing>,
    inbox: Weak<Inbox>,
    limit: Duration,
) {
    while let Some(answer) = answers.recv().await {
        let Some(outgoing) = outgoing.upgrade() else { return };
        let answer = answer.to_string();
        if let Some(inbox) = inbox.upgrade() {
            inbox.note_sent(answer.as_bytes());
        }
        // Ignore the error: the connection fails later if the other side does not read.
        let _ = tokio::time::timeout(limit, outgoing.send(answer.as_bytes())).await;
    }
}

/// A connection. Each one is a separate session.
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
    ///
    /// Returns [`NoResponse`] if the other side does not respond like an MCP server.
    pub(crate) async fn open(
        target: &dyn Target,
        mode: Option<Mode>,
        tap: &Arc<Tap>,
        limit: Duration,
    ) -> Result<Self, NoResponse> {
        let mut connection = Self::open_raw(target, mode, tap, limit).await?;
        let start_limit = limit.saturating_mul(START_FACTOR);
        let hello = json!({
            "protocolVersion": MCP_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "mcp-aql-conformance", "version": env!("CARGO_PKG_VERSION") },
        });
        match connection.request_within("initialize", &hello, start_limit).await {
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
            Answer::NoResponse(NoResponse::TimedOut(limit)) => {
                return Err(NoResponse::SlowStart(limit));
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
            let inbox = Arc::downgrade(&link.inbox);
            tokio::spawn(send_answers(answers, Arc::downgrade(&link.outgoing), inbox, limit));
        }
        Ok(Self { link, next_id: AtomicU64::new(1), limit, hello: Value::Null })
    }

    /// Returns the result of `initialize`.
    pub(crate) fn hello(&self) -> &Value {
        &self.hello
    }

    /// Returns the reason why this connection is closed, or `None` if it is open.
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
        // Format the message as a string: copying the large parameters of limit checks would be expensive.
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        self.ask(&id, message.into_bytes(), limit).await
    }

    /// Sends raw bytes and waits for the response to the request with this id.
    pub(crate) async fn exchange(&self, id: &Value, message: Vec<u8>, limit: Duration) -> Answer {
        {
            let mut state = self.link.inbox.lock();
            state.is_raw = true;
            state.raw = Some(id.to_string());
        }
        self.ask(id, message, limit).await
    }

    /// Sends a message and waits for the response.
    ///
    /// The time limit starts again with every response of the adapter. Adapters that handle calls one after the other
    /// are not late while calls are queued.
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
        self.link.inbox.note_sent(&message);
        let answered = async {
            self.link.outgoing.send(&message).await?;
            drop(message);
            let gone = || NoResponse::Closed("while a request was waiting".to_owned());
            receiver.await.map_err(|_| self.ended().unwrap_or_else(gone))
        };
        tokio::pin!(answered);
        // After a timeout, the entry stays, because a late response is still expected.
        let outcome = loop {
            let outcome = tokio::time::timeout_at(since + limit, &mut answered).await;
            let last = self.link.inbox.lock().answered;
            match last.filter(|last| outcome.is_err() && *last > since) {
                Some(last) => since = last,
                None => break outcome,
            }
        };
        match outcome {
            Err(_) => Answer::NoResponse(NoResponse::TimedOut(limit)),
            Ok(Err(lost)) => Answer::NoResponse(lost),
            Ok(Ok(message)) => Answer::of(message),
        }
    }

    /// Returns an unused id for manually built messages.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> Result<(), NoResponse> {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.put(message.to_string().as_bytes()).await
    }

    /// Sends raw bytes. Line-based transports add the end of the line.
    pub(crate) async fn send_raw(&self, message: &[u8]) -> Result<(), NoResponse> {
        self.link.inbox.lock().is_raw = true;
        self.put(message).await
    }

    async fn put(&self, message: &[u8]) -> Result<(), NoResponse> {
        self.link.inbox.note_sent(message);
        tokio::time::timeout(self.limit, self.link.outgoing.send(message))
            .await
            .unwrap_or(Err(NoResponse::TimedOut(self.limit)))
    }

    /// Records that a call of an operation succeeded.
    pub(crate) fn note_call(&self, operation: &str) {
        self.link.inbox.note_call(operation);
    }

    /// Takes the notifications received since the last call.
    pub(crate) fn take_notifications(&self) -> Vec<Value> {
        std::mem::take(&mut self.link.inbox.lock().notifications)
    }

    /// Prepares the connection for another check.
    ///
    /// Discards the notifications of the earlier check. Also ends the tolerance of unexpected errors that its malformed
    /// messages required.
    pub(crate) fn reset(&self) {
        let mut state = self.link.inbox.lock();
        state.notifications.clear();
        state.is_raw = false;
        state.raw = None;
    }

    /// Closes the connection.
    pub(crate) async fn close(self) {
        self.link.outgoing.close(self.limit.min(CLOSE_TIMEOUT)).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::super::inbox::Inbox;
    use super::*;

    /// A connection that never receives a response and never closes.
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
    async fn errors_are_excused_only_for_the_check_that_sent_malformed_messages() {
        let tap = Arc::<Tap>::default();
        let inbox = Inbox::new(Arc::clone(&tap));
        let link = Link { outgoing: Arc::new(Silent), inbox: Arc::clone(&inbox) };
        let limit = Duration::from_millis(10);
        let connection = Connection { link, next_id: AtomicU64::new(1), limit, hello: Value::Null };
        let error = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#;
        connection.send_raw(b"{").await.unwrap();
        assert!(inbox.take(error));
        assert_eq!(tap.seen().unexpected.count, 0);
        connection.reset();
        assert!(inbox.take(error));
        assert_eq!(tap.seen().unexpected.count, 1);
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
