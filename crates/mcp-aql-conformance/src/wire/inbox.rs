//! Dispatches the received messages of a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::no_response::{MAX_UNREQUESTED, MAX_UNREQUESTED_BYTES};
use super::{NoResponse, Tap, TraceDirection};
use crate::json_size::{MAX_VALUES, is_light};
use crate::sync::lock;

/// Maximum length of a message, in bytes.
///
/// The protocol allows responses of up to 100 MB, but the memory of the runner is limited. This value covers the
/// default limit of 10 MB with the overhead of JSON-RPC and quoting.
pub(super) const MAX_MESSAGE_BYTES: usize = 24 << 20;

/// Dispatches received messages to the waiting requests.
#[derive(Debug)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    tap: Arc<Tap>,
    /// Number of the connection in the trace.
    connection: u64,
    /// Sends requests of the other side to the task that replies.
    to_answer: mpsc::UnboundedSender<Value>,
    answers: Mutex<Option<mpsc::UnboundedReceiver<Value>>>,
}

/// The requests and the unrequested messages of a connection.
#[derive(Debug, Default)]
pub(super) struct InboxState {
    /// Waiting requests by id. The id is stored as JSON, because `7` and `"7"` differ.
    pub(super) waiting: HashMap<String, oneshot::Sender<Value>>,
    pub(super) notifications: Vec<Value>,
    /// If `true`, malformed messages were sent, so unexpected errors are acceptable.
    pub(super) is_raw: bool,
    /// Id of the last malformed request that waits for a response. An error without an id belongs to this request,
    /// because the adapter could not read the id.
    pub(super) raw: Option<String>,
    /// Number of unrequested messages since the last response.
    unrequested: usize,
    unasked_bytes: usize,
    /// Time of the last response.
    pub(super) answered: Option<Instant>,
    pub(super) ended: Option<NoResponse>,
}

impl Inbox {
    pub(super) fn new(tap: Arc<Tap>) -> Arc<Self> {
        let (to_answer, answers) = mpsc::unbounded_channel();
        let answers = Mutex::new(Some(answers));
        let connection = tap.next_connection();
        Arc::new(Self { state: Mutex::default(), tap, connection, to_answer, answers })
    }

    /// Takes the receiver of replies to the other side.
    pub(super) fn answers(&self) -> Option<mpsc::UnboundedReceiver<Value>> {
        lock(&self.answers).take()
    }

    /// Writes a message to the adapter to the trace.
    pub(super) fn note_sent(&self, message: &[u8]) {
        self.tap.trace(self.connection, TraceDirection::Sent, message);
    }

    /// Records that a call of an operation succeeded.
    pub(super) fn note_call(&self, operation: &str) {
        self.tap.note_call(operation);
    }

    /// Dispatches a received message. Returns `false` if the connection should be closed.
    pub(super) fn take(&self, text: &[u8]) -> bool {
        self.tap.trace(self.connection, TraceDirection::Received, text);
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
        if message.get("method").is_none() {
            return self.dispatch_response(text, message);
        }
        match (message.get("id"), message.get("method").and_then(Value::as_str)) {
            (Some(id), method) => {
                // Sending fails only if the connection is closed.
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

    /// Passes a response to its request. Returns `false` if the connection should be closed.
    fn dispatch_response(&self, text: &[u8], message: Value) -> bool {
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
        match waiting {
            Some(sender) => {
                // Sending fails only if the request has timed out.
                let _ = sender.send(message);
                true
            }
            None => {
                if !(is_refusal && self.lock().is_raw) {
                    self.tap.unexpected(&message);
                }
                self.unrequested(text)
            }
        }
    }

    /// Counts an unrequested message. Returns `false` if the limit is exceeded.
    pub(super) fn unrequested(&self, text: &[u8]) -> bool {
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

    /// Closes the connection and reports the reason to the waiting requests.
    pub(super) fn end(&self, why: NoResponse) {
        let mut state = self.lock();
        state.ended.get_or_insert(why);
        state.waiting.clear();
    }

    pub(super) fn ended(&self) -> Option<NoResponse> {
        self.lock().ended.clone()
    }

    /// Locks the state of the requests.
    pub(super) fn lock(&self) -> MutexGuard<'_, InboxState> {
        lock(&self.state)
    }
}

/// Returns the error message for unsupported requests of the server.
pub(super) fn unanswered(method: &str) -> String {
    format!("this client has no method `{method}`")
}

/// Builds the reply to a request of the server, for a client without capabilities.
fn answer(id: &Value, method: &str) -> Value {
    match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => json!({ "jsonrpc": "2.0", "id": id, "error": {
            "code": -32601, "message": unanswered(method),
        } }),
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
}
