//! A single reply as JSON.

use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_aql_protocol::ErrorCode;

use crate::bounded_json::write_json;
use crate::caller::elicitation::UserQuestion;
use crate::error::OperationError;
use crate::error::warning::Warning;
use crate::operation::Payload;
use crate::util::BoxFuture;
use crate::vocab::{ReplyForm, ReplyLimits};

/// The reply to a call, as JSON. A transport sends it to the client.
///
/// Source: MCP-AQL §5.1 (REQ-RSP-01 to REQ-RSP-07).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The success or failure object as compact JSON.
    pub text: String,
    /// Error code of a failure. `None` for a success.
    pub code: Option<ErrorCode>,
    /// If `true`, `text` is a JSON string that contains the object. A transport must request this form.
    #[doc(hidden)]
    pub is_quoted: bool,
    /// A question that the client receives instead of the JSON. It is only set if the call can be
    /// [repeated](crate::transport::Elicitation::Repeating) with an answer.
    pub question: Option<Box<UserQuestion>>,
}

/// The reply to a tool call whose arguments were read. The call only runs while you poll this future.
#[must_use = "the call runs when this is awaited"]
pub struct PendingReply {
    operation: Option<usize>,
    reply: BoxFuture<'static, Reply>,
}

impl PendingReply {
    pub(crate) fn new(operation: Option<usize>, reply: BoxFuture<'static, Reply>) -> Self {
        Self { operation, reply }
    }

    /// Returns the index of the operation among all operations of the adapter, and the reply. The index is `None` for
    /// a batch, and for an operation that the endpoint does not offer.
    #[doc(hidden)]
    pub fn into_parts(self) -> (Option<usize>, BoxFuture<'static, Reply>) {
        (self.operation, self.reply)
    }
}

impl Future for PendingReply {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        self.reply.as_mut().poll(context)
    }
}

impl Reply {
    /// Creates a success: `{"success":true,"data":…}`, with warnings if there are any.
    pub(crate) fn success(payload: Payload, warnings: &[Warning]) -> Self {
        if payload.form() == ReplyForm::Quoted && warnings.is_empty() {
            let text = payload.into_text() + "}\"";
            return Self { is_quoted: true, ..Self::plain(text, None) };
        }
        let mut text = payload.into_plain_text();
        push_warnings(&mut text, warnings);
        text.push('}');
        Self::plain(text, None)
    }

    /// Creates a reply in its plain form.
    pub(super) fn plain(text: String, code: Option<ErrorCode>) -> Self {
        Self { text, code, is_quoted: false, question: None }
    }

    /// Creates a failure: `{"success":false,"error":{…}}`.
    pub(crate) fn failure(error: &OperationError) -> Self {
        // Errors consist of codes, strings and JSON. These always serialize.
        let error_json = serde_json::to_string(error).unwrap_or_default();
        let text = format!(r#"{{"success":false,"error":{error_json}}}"#);
        Self::plain(text, Some(error.code()))
    }

    /// Creates the same failure as a JSON string.
    pub(crate) fn quoted_failure(error: &OperationError) -> Self {
        let mut text = Vec::with_capacity(768);
        text.extend_from_slice(br#""{\"success\":false,\"error\":"#);
        let limits = ReplyLimits::of_part(usize::MAX, usize::MAX).in_form(ReplyForm::Quoted);
        if write_json(&mut text, error, 1, limits).is_err() {
            return Self::failure(error);
        }
        text.extend_from_slice(b"}\"");
        let text = String::from_utf8(text).unwrap_or_default();
        Self { is_quoted: true, ..Self::plain(text, Some(error.code())) }
    }

    /// Creates a reply from the result of another server's tool.
    #[doc(hidden)]
    pub fn of_tool(text: String) -> Self {
        Self::plain(text, None)
    }

    /// Returns `true` if MCP's `isError` must be set. This is only the case for errors that a client cannot correct
    /// with another call (REQ-MCP-10, choice C-11).
    pub fn is_error(&self) -> bool {
        self.code.is_some_and(|code| !code.is_recoverable())
    }
}

/// Appends `,"warnings":[…]` unless there are none (REQ-WRN-01).
pub(super) fn push_warnings(text: &mut String, warnings: &[Warning]) {
    if warnings.is_empty() {
        return;
    }
    if let Ok(json) = serde_json::to_string(warnings) {
        text.push_str(",\"warnings\":");
        text.push_str(&json);
    }
}
