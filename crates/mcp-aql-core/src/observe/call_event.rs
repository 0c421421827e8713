//! The events of calls, as passed to observers.

use std::time::Duration;

use mcp_aql_protocol::{ErrorCode, SemanticCategory};

use crate::operation::CallScope;

/// Describes a finished call or execution. Use it for your own metrics and audit logs: pass a function to
/// [`AdapterBuilder::observe`](crate::AdapterBuilder::observe).
#[derive(Debug)]
#[non_exhaustive]
pub struct CallEvent<'a> {
    /// Name of the operation. `None` for an unknown operation, because that name comes from the caller. Also `None` for
    /// a request that could not be parsed, and for one that did not start because the replies to its JSON-RPC batch
    /// were too large.
    pub operation: Option<&'static str>,
    /// Category of the operation.
    pub category: Option<SemanticCategory>,
    /// Outcome of the call.
    pub outcome: CallOutcome,
    /// Error code. `None` for a success.
    pub code: Option<ErrorCode>,
    /// Time from the decoded request to the serialized reply. For an execution, time from its start to its end.
    pub duration: Duration,
    /// Size of the request that contained the call, in bytes. `None` if the transport does not know it.
    pub request_bytes: Option<usize>,
    /// Size of the reply to this call, or of the result of an execution, in bytes of JSON. A reply that does not fit
    /// into its JSON-RPC batch counts in full, although the client receives an error instead.
    pub reply_bytes: usize,
    /// Id of the finished execution. `None` for a call.
    pub execution_id: Option<&'a str>,
    /// Properties of the caller, such as its session and its principal.
    pub scope: &'a CallScope,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The operation returned its result. If the call started an execution, the execution may still be running.
    Succeeded,
    /// The call needs a confirmation before it can run.
    AwaitsConfirmation,
    /// The call was rejected, or the operation failed.
    Failed,
    /// The caller canceled the call, or the execution was canceled.
    Cancelled,
}

impl CallOutcome {
    /// Returns the outcome in lower case, for labels of metrics: `succeeded`, `awaits_confirmation`, `failed` or
    /// `cancelled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::AwaitsConfirmation => "awaits_confirmation",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the outcome of a call from its error code. `is_cancelled` is `true` if the caller no longer waits.
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
