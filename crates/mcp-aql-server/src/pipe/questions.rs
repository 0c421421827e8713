//! The questions that wait for an answer of the client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_aql_core::future::{BoxFuture, erased};
use mcp_aql_core::sync::lock;
use mcp_aql_core::transport::{AskUser, UserAnswer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::elicitation::{answer, form};
use crate::wire::Outbox;

/// The user of the client. Asks with `elicitation/create`.
#[derive(Clone)]
pub(super) struct ClientUser {
    outbox: Outbox,
    waiting: Arc<Waiting>,
}

/// The open questions by the text of their ids.
#[derive(Default)]
struct Waiting {
    questions: Mutex<HashMap<String, oneshot::Sender<Option<UserAnswer>>>>,
    next: AtomicU64,
}

impl ClientUser {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { outbox, waiting: Arc::default() }
    }

    /// Passes the client's answer on to the call that waits for it. An error, or a result of another form, means that the
    /// client cannot ask.
    pub(super) fn answer(&self, id: &str, result: Option<&RawValue>) {
        let Ok(id) = serde_json::from_str::<String>(id) else { return };
        let Some(question) = lock(&self.waiting.questions).remove(&id) else { return };
        let result = result.and_then(|it| serde_json::from_str::<Value>(it.get()).ok());
        // The call may have ended meanwhile.
        let _ = question.send(result.as_ref().and_then(answer));
    }

    fn send(&self, message: &Value) {
        let pushed = self.outbox.push(|line| line.extend(message.to_string().bytes()));
        if let Err(error) = pushed {
            tracing::debug!(%error, "a question could not be sent");
        }
    }
}

impl AskUser for ClientUser {
    fn ask(&self, question: String) -> BoxFuture<'_, Option<UserAnswer>> {
        erased(async move {
            self.outbox.room().await;
            let number = self.waiting.next.fetch_add(1, Ordering::Relaxed);
            let id = format!("confirmation-{number}");
            let (sender, receiver) = oneshot::channel();
            lock(&self.waiting.questions).insert(id.clone(), sender);
            let open = OpenQuestion { user: self, id };
            let (id, params) = (&open.id, form(&question));
            let method = "elicitation/create";
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
            receiver.await.ok().flatten()
        })
    }
}

/// A question that is withdrawn when it is dropped without an answer.
struct OpenQuestion<'a> {
    user: &'a ClientUser,
    id: String,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if lock(&self.user.waiting.questions).remove(&self.id).is_some() {
            let params = json!({ "requestId": self.id, "reason": "no answer is needed any more" });
            let method = "notifications/cancelled";
            self.user.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
    }
}
