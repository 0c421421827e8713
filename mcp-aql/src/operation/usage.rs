use super::BoxFuture;
use crate::error::OperationError;

/// What a call used of a wrapped API, as an operation [reports](super::Context::report_usage) it.
///
/// ```
/// use mcp_aql::limits::Usage;
///
/// let usage = Usage::tokens(1_200).cost(0.02);
/// # let _ = usage;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use]
pub struct Usage {
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
    pub(crate) cost: f64,
}

impl Usage {
    /// So many tokens.
    pub fn tokens(count: u64) -> Self {
        Self { tokens: count, ..Self::default() }
    }

    /// So many bytes, for a cost model by bytes.
    pub fn bytes(mut self, count: u64) -> Self {
        self.bytes = count;
        self
    }

    /// What the call cost beyond the cost models, in their currency.
    pub fn cost(mut self, amount: f64) -> Self {
        self.cost = amount;
        self
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.cost += other.cost;
    }
}

/// Remembers what wrapped APIs say about their limits.
pub(crate) trait UpstreamMemory: Send + Sync {
    /// Takes note of a response that a call of the operation got.
    fn answered<'a>(
        &'a self,
        operation: &'a str,
        status: u16,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<(), OperationError>>;
}
