//! The usage of wrapped APIs, as reported by operations.

use crate::error::OperationError;
use crate::util::BoxFuture;

/// The usage of a wrapped API by a call. An operation [reports](super::Context::report_usage) it, and quotas count
/// it.
///
/// ```
/// use mcp_aql::rate_limits::Usage;
///
/// let usage = Usage::tokens(1_200).cost(0.02);
/// # let _ = usage;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use]
pub struct Usage {
    #[doc(hidden)]
    pub tokens: u64,
    #[doc(hidden)]
    pub bytes: u64,
    #[doc(hidden)]
    pub cost: f64,
}

impl Usage {
    /// Creates a usage of this number of tokens.
    pub fn tokens(count: u64) -> Self {
        Self { tokens: count, ..Self::default() }
    }

    /// Sets the number of bytes. A cost model by bytes uses it.
    pub fn bytes(mut self, count: u64) -> Self {
        self.bytes = count;
        self
    }

    /// Sets a cost in addition to that of the cost models, in their currency. It must be finite and not negative.
    ///
    /// Any other amount counts as 0 and is logged as an error with the caller's line. The reason is that NaN would
    /// make later sums useless, and an infinite amount would exhaust the quota of a month.
    #[track_caller]
    pub fn cost(mut self, amount: f64) -> Self {
        if amount.is_finite() && amount >= 0.0 {
            self.cost = amount;
        } else {
            let by = std::panic::Location::caller();
            tracing::error!(amount, %by, "a cost is not counted, because it is negative or not a number");
        }
        self
    }

    #[doc(hidden)]
    pub fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.cost = (self.cost + other.cost).min(f64::MAX);
    }
}

/// Counts the usage of wrapped APIs.
pub trait UsageRecorder: Send + Sync {
    /// Counts the usage reported by an operation. Failures are only logged, because the operation has already run.
    fn record(&self, usage: Usage) -> BoxFuture<'_, ()>;
}

/// Stores the limits reported by wrapped APIs.
pub trait UpstreamMemory: Send + Sync {
    /// Records a response.
    fn answered<'a>(
        &'a self,
        response: UpstreamResponse<'a>,
    ) -> BoxFuture<'a, Result<(), OperationError>>;
}

/// The response of a wrapped API to a call.
#[derive(Debug, Clone, Copy)]
pub struct UpstreamResponse<'a> {
    /// Operation of the call.
    pub(crate) operation: &'a str,
    /// Id of the authenticated caller.
    pub(crate) principal: Option<&'a str>,
    /// Id of the caller's session.
    pub(crate) session: Option<&'a str>,
    /// HTTP status.
    pub(crate) status: u16,
    /// Headers, as names and values.
    pub(crate) headers: &'a [(&'a str, &'a str)],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_an_amount_or_nothing() {
        // REQ-RATE-10
        for amount in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.01] {
            assert_eq!(Usage::tokens(7).cost(amount), Usage::tokens(7), "{amount}");
        }
        let mut used = Usage::default().cost(0.5);
        used.add(Usage::tokens(3).cost(f64::NAN));
        assert_eq!(used, Usage::tokens(3).cost(0.5));
        used.add(Usage::default().cost(f64::MAX));
        used.add(Usage::default().cost(f64::MAX));
        assert_eq!(used.cost, f64::MAX);
    }
}
