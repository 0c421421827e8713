//! The size budget for the replies to one JSON-RPC batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::request::too_large;
use mcp_aql_protocol::ErrorCode;

/// The remaining size budget for the replies to one batch. It starts at the size limit of a single reply, because all
/// replies are buffered until the last one is complete.
#[derive(Debug, Clone)]
pub(crate) struct BatchBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    limit: usize,
    left: AtomicUsize,
    /// Set once a reply exceeded the remaining budget.
    is_full: AtomicBool,
}

impl BatchBudget {
    /// Creates a budget of this many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(BudgetState { limit, left: limit.into(), is_full: false.into() }))
    }

    /// Reserves the bytes of a reply. Returns `false` if they exceed the remaining budget.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let reserved = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !reserved {
            self.0.is_full.store(true, Ordering::Relaxed);
        }
        reserved
    }

    /// Returns `true` if a reply exceeded the budget. No further call starts in this case.
    pub(crate) fn is_full(&self) -> bool {
        self.0.is_full.load(Ordering::Relaxed)
    }

    /// Returns the error for a call whose reply exceeds the budget (REQ-ENC-09, REQ-ENC-13). `bytes` is the size of the
    /// reply, or 0 if the call did not run.
    pub(crate) fn error(&self, bytes: usize) -> OperationError {
        let limit = self.0.limit;
        let used = limit.saturating_sub(self.0.left.load(Ordering::Relaxed));
        let needed = used.saturating_add(bytes).max(limit);
        let measured = too_large("response_size", limit, needed, "bytes");
        let message = format!("{}: {FEWER_CALLS_ADVICE}", measured.message());
        measured.details().iter().fold(
            OperationError::new(ErrorCode::ValidationPayloadTooLarge, message),
            |error, (name, value)| error.with_detail(name, value.clone()),
        )
    }
}

/// Advice for clients whose batch is too large.
pub(crate) const FEWER_CALLS_ADVICE: &str = "send fewer calls in one batch";
