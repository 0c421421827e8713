//! The size limit of the replies to one JSON-RPC batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::request::too_large;
use mcp_aql_protocol::ErrorCode;

/// The remaining space for the replies to one batch, which are buffered until the last one is
/// complete. It starts at the size limit of a single reply.
#[derive(Debug, Clone)]
pub(super) struct BatchBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    limit: usize,
    left: AtomicUsize,
    /// Set once a reply did not fit.
    is_full: AtomicBool,
}

impl BatchBudget {
    /// Creates space for replies of this many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(BudgetState { limit, left: limit.into(), is_full: false.into() }))
    }

    /// Reserves space for a reply of this many bytes. Returns `false` if the rest is too small.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let reserved = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !reserved {
            self.0.is_full.store(true, Ordering::Relaxed);
        }
        reserved
    }

    /// Whether a reply did not fit, after which no further call begins.
    pub(super) fn is_full(&self) -> bool {
        self.0.is_full.load(Ordering::Relaxed)
    }

    /// The error for a call whose reply does not fit (REQ-ENC-09, REQ-ENC-13). `bytes` is the size
    /// of the reply, if the call ran.
    pub(super) fn error(&self, bytes: usize) -> OperationError {
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

/// The advice to a client whose batch is too large.
pub(super) const FEWER_CALLS_ADVICE: &str = "send fewer calls in one batch";
