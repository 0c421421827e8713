//! The extension point for limits on calls, such as rate limits and quotas.

use chrono::{DateTime, Utc};

use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::operation::{Context, RegisteredOperation, Usage};

/// Counts calls, and rejects those that exceed a limit. It is the last gate.
pub(crate) trait CallLimits: Send + Sync {
    /// Whether a call may need a token because of a paused quota.
    fn may_pause(&self) -> bool;

    /// Rejects a call that [`admit`](Self::admit) would reject, without counting it. Used before a confirmation
    /// is requested.
    fn check<'a>(
        &'a self,
        call: LimitRequest<'a>,
        tokens: &'a dyn QuotaTokens,
    ) -> BoxFuture<'a, Result<(), OperationError>>;

    /// Counts and admits a call, or rejects it, so that calls rejected by other gates are not counted
    /// (REQ-RATE-01).
    ///
    /// The call is counted before its tokens are consumed, and subtracted again if they are invalid. If two
    /// calls compete for the last place, the one that is rejected keeps its token.
    fn admit<'a>(
        &'a self,
        call: LimitRequest<'a>,
        tokens: &'a dyn QuotaTokens,
    ) -> BoxFuture<'a, Result<CountedCall, OperationError>>;

    /// Subtracts a counted call that does not run.
    fn release(&self, counted: CountedCall) -> BoxFuture<'_, ()>;

    /// Counts the usage that an operation has reported. A failure is only logged, because the operation has run.
    fn settle(&self, usage: Usage) -> BoxFuture<'_, ()>;

    /// The ids of limits whose counters should outlive the process.
    fn lasting(&self) -> Vec<String>;
}

/// Issues and consumes the tokens of one call.
pub(crate) trait QuotaTokens: Send + Sync {
    /// Issues a token for this call at a paused quota. Returns it with its expiry.
    fn issue(&self) -> BoxFuture<'_, Result<(String, DateTime<Utc>), OperationError>>;

    /// Consumes the tokens of this call: its confirmation, if it needs one, and its token for a paused quota,
    /// if one is paused. All are consumed together or none.
    fn consume<'a>(&'a self, quota: Option<&'a str>) -> BoxFuture<'a, Result<(), OperationError>>;
}

/// A call that requests admission.
#[derive(Clone, Copy)]
pub(crate) struct LimitRequest<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    pub(crate) context: &'a Context,
    /// `params._quota_continue`.
    pub(crate) token: Option<&'a str>,
}

/// A counted call, which can be subtracted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedCall {
    pub(crate) operation: &'static str,
    /// The time of the call, in microseconds since 1970.
    pub(crate) at: i64,
    /// The price of the call, in millionths of the currency.
    pub(crate) price: u64,
}
