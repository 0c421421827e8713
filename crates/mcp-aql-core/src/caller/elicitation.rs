//! Asks the user of a call's client for a confirmation. MCP calls this elicitation.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::util::BoxFuture;
use crate::util::lock;

/// Asks the user of the caller's client for permission to run a call.
///
/// The built-in transports provide it for clients with the capability `elicitation`. If you write your own transport,
/// set [`CallScope::elicitation`](crate::transport::CallScope::elicitation). Without it, calls are confirmed with
/// tokens.
///
/// Source: MCP 2025-11-25 "Elicitation", MCP 2026-07-28 "Multi Round-Trip Requests".
#[derive(Clone)]
pub enum Elicitation {
    /// The client shows a question while the call waits for the answer. The wait needs a tokio runtime with timers.
    Waiting(Arc<dyn AskUser>),
    /// The client receives a [question](crate::transport::Reply::question) instead of a result, and repeats the call
    /// with the answer.
    Repeating(Arc<RepeatedCall>),
}

/// Shows a question to the user of a client. Implement it for your own transport.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_aql::prelude::*;
/// use mcp_aql::transport::{AskUser, CallScope, Elicitation, Endpoint, UserAnswer};
/// use mcp_aql::{Adapter, BoxFuture};
///
/// struct Agrees;
///
/// impl AskUser for Agrees {
///     fn ask(&self, question: String) -> BoxFuture<'_, Option<UserAnswer>> {
///         assert_eq!(question.lines().next(), Some("Delete note 'n-7'?"));
///         Box::pin(async { Some(UserAnswer::Accepted) })
///     }
/// }
///
/// /// Delete a note.
/// #[operation(category = "DELETE", danger(confirmation_message = "Delete note '{note_id}'?"))]
/// async fn delete_note(
///     /// The note to delete.
///     note_id: String,
/// ) {
///     let _ = note_id;
/// }
///
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let adapter = Adapter::builder("notes").operation(delete_note {}).without_config().build()?;
/// let elicitation = Some(Elicitation::Waiting(Arc::new(Agrees)));
/// let scope = CallScope { elicitation, ..CallScope::default() };
/// let call = serde_json::json!({ "operation": "delete_note", "params": { "note_id": "n-7" } });
/// let reply = adapter.handle(Endpoint::Unified, call.as_object().cloned().unwrap(), scope).await;
/// assert_eq!(reply.code, None, "{}", reply.text);
/// # Ok(()) }) }
/// ```
pub trait AskUser: Send + Sync + 'static {
    /// Shows a question with several lines. The user accepts or declines it. Returns `None` if the client cannot show
    /// it.
    ///
    /// The caller limits the time. It drops the future to withdraw the question.
    fn ask(&self, question: String) -> BoxFuture<'_, Option<UserAnswer>>;
}

/// The answer of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAnswer {
    /// The user agrees to the call.
    Accepted,
    /// The user declines the call.
    Declined,
    /// The user has closed the question without an answer.
    Cancelled,
}

/// A call that the client repeats with the answer of its user.
///
/// Each question has a state, and the client returns the state with the answer. The state is a token like a
/// confirmation token: random, valid once, and bound to the call and its caller.
#[derive(Debug, Default)]
pub struct RepeatedCall {
    /// The state of the earlier question, and the user's answer.
    answered: Option<(String, UserAnswer)>,
    question: Mutex<Option<UserQuestion>>,
}

impl RepeatedCall {
    /// Creates a call. Pass the state of the question and the user's answer if the client has sent them.
    pub fn new(answered: Option<(String, UserAnswer)>) -> Self {
        Self { answered, question: Mutex::default() }
    }

    pub(crate) fn answered(&self) -> Option<(&str, UserAnswer)> {
        self.answered.as_ref().map(|(state, answer)| (state.as_str(), *answer))
    }

    /// Stores the question that the client receives instead of the result.
    pub(crate) fn ask(&self, question: UserQuestion) {
        *lock(&self.question) = Some(question);
    }

    pub(crate) fn take_question(&self) -> Option<UserQuestion> {
        lock(&self.question).take()
    }
}

/// A question that a client receives instead of the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question for the user. It has several lines.
    pub message: String,
    /// The state that the client returns with the answer.
    pub state: String,
}

impl fmt::Debug for Elicitation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Repeating(_) => "Repeating",
        })
    }
}
