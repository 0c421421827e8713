//! The events of calls for observers.

use std::time::Duration;

use mcp_aql_protocol::{ErrorCode, SemanticCategory};

use crate::operation::CallScope;

/// A call that has been answered, or an execution that has ended, for metrics and audit logs of your own. Pass a function
/// to [`AdapterBuilder::observe`](crate::AdapterBuilder::observe).
#[derive(Debug)]
#[non_exhaustive]
pub struct CallEvent<'a> {
    /// The name of the operation. `None` for a request that could not be read, or that did not start because the replies
    /// to its JSON-RPC batch were too large, and for an unknown operation, whose name is the caller's text.
    pub operation: Option<&'static str>,
    /// The category of the operation.
    pub category: Option<SemanticCategory>,
    /// The outcome of the call.
    pub outcome: CallOutcome,
    /// The code of the error; `None` for a success.
    pub code: Option<ErrorCode>,
    /// The time from the decoded request to the written reply, or the time from the beginning of an execution to its end.
    pub duration: Duration,
    /// The size of the request that contained the call, in bytes. `None` if the transport passed no text.
    pub request_bytes: Option<usize>,
    /// The size of the reply to this call, or of the result of an execution, in bytes of JSON text. A reply that does not
    /// fit into its JSON-RPC batch counts, although the client receives an error in its place.
    pub reply_bytes: usize,
    /// The id of the execution that has ended; `None` for a call.
    pub execution_id: Option<&'a str>,
    /// The session, the principal among the extensions, and the other properties of the caller.
    pub scope: &'a CallScope,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The operation returned its result. For a call that begins an execution, the execution has begun.
    Succeeded,
    /// Somebody must confirm the call before it runs.
    AwaitsConfirmation,
    /// The call was refused, or the operation failed.
    Failed,
    /// The caller gave up, or the execution was cancelled.
    Cancelled,
}

impl CallOutcome {
    /// The outcome in lower case, for labels of metrics: `succeeded`, `awaits_confirmation`, `failed` or `cancelled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::AwaitsConfirmation => "awaits_confirmation",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome of a call with this code whose caller may have given up.
    pub(crate) fn of(code: Option<ErrorCode>, is_cancelled: bool) -> Self {
        match code {
            None => Self::Succeeded,
            Some(ErrorCode::ConfirmationRequired | ErrorCode::RateLimitQuotaPause) => {
                Self::AwaitsConfirmation
            }
            Some(_) if is_cancelled => Self::Cancelled,
            Some(_) => Self::Failed,
        }
    }
}
