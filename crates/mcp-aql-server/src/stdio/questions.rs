//! Questions to the client's user over a stream, and their answers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::{erased, lock};
use mcp_aql_core::transport::{AskUser, UserAnswer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::outbox::Outbox;
use crate::mcp::elicitation::{WITHDRAWN, answer, form};

/// Asks the client's user with `elicitation/create`, for example:
///
/// ```json
/// {
///   "jsonrpc": "2.0",
///   "id": "confirmation-0",
///   "method": "elicitation/create",
///   "params": {
///     "mode": "form",
///     "message": "Delete this note?",
///     "requestedSchema": { "type": "object", "properties": {} }
///   }
/// }
/// ```
pub(super) struct ClientUser {
    outbox: Outbox,
    /// The open questions by id.
    open: Mutex<HashMap<String, oneshot::Sender<Option<UserAnswer>>>>,
    next: AtomicU64,
}

impl ClientUser {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { outbox, open: Mutex::default(), next: AtomicU64::default() }
    }

    /// Passes the client's answer to the waiting call. An error or an invalid result means that the client cannot ask
    /// its user.
    pub(super) fn answer(&self, id: &str, result: Option<&RawValue>) {
        let Ok(id) = serde_json::from_str::<String>(id) else { return };
        let Some(question) = lock(&self.open).remove(&id) else { return };
        let result = result.and_then(|it| serde_json::from_str::<Value>(it.get()).ok());
        // The call may have ended in the meantime.
        let _ = question.send(result.as_ref().and_then(answer));
    }

    /// Cancels all open questions because the client sends no more answers.
    pub(super) fn leave(&self) {
        lock(&self.open).clear();
    }

    /// Sends a message. Returns `true` if the client can receive it.
    fn send(&self, message: &Value) -> bool {
        let pushed = self.outbox.push(|line| line.extend(message.to_string().bytes()));
        pushed.inspect_err(|error| tracing::debug!(%error, "the client is gone")).is_ok()
    }
}

impl AskUser for ClientUser {
    fn ask(&self, question: String) -> BoxFuture<'_, Option<UserAnswer>> {
        erased(async move {
            self.outbox.wait_for_capacity().await;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let id = format!("confirmation-{number}");
            let (sender, receiver) = oneshot::channel();
            lock(&self.open).insert(id.clone(), sender);
            let open = OpenQuestion { user: self, id };
            let (id, params) = (&open.id, form(&question));
            let method = "elicitation/create";
            let sent = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            if !self.send(&sent) {
                return Some(UserAnswer::Cancelled);
            }
            // The sender was dropped: the client disconnected without an answer.
            receiver.await.unwrap_or(Some(UserAnswer::Cancelled))
        })
    }
}

/// An open question. If dropped before the answer arrives, it withdraws the question.
struct OpenQuestion<'a> {
    user: &'a ClientUser,
    id: String,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if lock(&self.user.open).remove(&self.id).is_some() {
            let params = json!({ "requestId": self.id, "reason": WITHDRAWN });
            let method = "notifications/cancelled";
            self.user.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// Asks a question, and calls `client` once the question is open.
    async fn asked(client: impl FnOnce(&ClientUser)) -> Option<UserAnswer> {
        let user = Arc::new(ClientUser::new(Outbox::default()));
        let asking = Arc::clone(&user);
        let call = tokio::spawn(async move { asking.ask("Go on?".to_owned()).await });
        while lock(&user.open).is_empty() {
            tokio::task::yield_now().await;
        }
        client(&user);
        let answer = tokio::time::timeout(Duration::from_secs(10), call).await.unwrap().unwrap();
        assert!(lock(&user.open).is_empty());
        answer
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn only_the_first_answer_with_the_right_id_counts() {
        let (accept, decline) = (raw(r#"{"action":"accept"}"#), raw(r#"{"action":"decline"}"#));
        let answer = asked(|user| {
            for id in ["0", "null", r#""confirmation-1""#, r#""""#, "confirmation-0"] {
                user.answer(id, Some(&decline));
            }
            user.answer(r#""confirmation-0""#, Some(&accept));
            user.answer(r#""confirmation-0""#, Some(&decline));
        });
        assert_eq!(answer.await, Some(UserAnswer::Accepted));
    }

    #[tokio::test]
    async fn an_error_means_that_the_client_cannot_ask() {
        for result in [None, Some(raw("{}")), Some(raw(r#"{"action":"agree"}"#)), Some(raw("7"))] {
            let answer = asked(|user| user.answer(r#""confirmation-0""#, result.as_deref()));
            assert_eq!(answer.await, None, "{result:?}");
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_has_not_agreed() {
        assert_eq!(asked(ClientUser::leave).await, Some(UserAnswer::Cancelled));
        let outbox = Outbox::default();
        outbox.close();
        let answer = ClientUser::new(outbox).ask("Go on?".to_owned()).await;
        assert_eq!(answer, Some(UserAnswer::Cancelled));
    }
}
