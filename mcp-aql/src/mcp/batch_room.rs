//! The bound on the replies to one batch of JSON-RPC.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::OperationError;
use crate::request::too_large;
use mcp_aql_protocol::ErrorCode;

/// The room for the replies to the messages of one batch, which are held together until the last one is
/// complete. It is as large as that for one reply.
#[derive(Debug, Clone)]
pub(super) struct BatchRoom(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: usize,
    left: AtomicUsize,
    /// Set once a reply had no room.
    is_full: AtomicBool,
}

impl BatchRoom {
    /// Room for replies of this many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Inner { limit, left: limit.into(), is_full: false.into() }))
    }

    /// Reserves room for a reply of this many bytes. Returns `false` if the rest is too small.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let reserved = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !reserved {
            self.0.is_full.store(true, Ordering::Relaxed);
        }
        reserved
    }

    /// Whether a reply had no room, after which no further call begins.
    pub(super) fn is_full(&self) -> bool {
        self.0.is_full.load(Ordering::Relaxed)
    }

    /// The error for a call whose reply has no room (REQ-ENC-09, REQ-ENC-13). `bytes` are those of the reply,
    /// if the call ran.
    pub(super) fn error(&self, bytes: usize) -> OperationError {
        let limit = self.0.limit;
        let used = limit.saturating_sub(self.0.left.load(Ordering::Relaxed));
        let needed = used.saturating_add(bytes).max(limit);
        let measured = too_large("response_size", limit, needed, "bytes");
        let message = format!("{}: {FEWER}", measured.message());
        measured.details().iter().fold(
            OperationError::new(ErrorCode::ValidationPayloadTooLarge, message),
            |error, (name, value)| error.with_detail(name, value.clone()),
        )
    }
}

/// The advice to a client whose batch has no room for all replies.
pub(super) const FEWER: &str = "send fewer calls in one batch";
