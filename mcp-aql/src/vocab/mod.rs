//! The protocol's nouns. Everything else in the crate may use them; they use nothing.

mod category;
mod danger;
mod limits;
mod names;

pub use category::{EndpointPermissions, SemanticCategory};
pub use danger::{DANGER_PATTERNS, DangerLevel, TrustLevel, UnknownLevel};
pub(crate) use danger::{inferred_danger, names_match};
pub use limits::{LimitOutOfRange, Limits};
pub(crate) use limits::{MAX_REPLY_DEPTH, ReplyLimits};
pub use names::{RESERVED_OPERATIONS, is_public_name};
pub(crate) use names::{closest, json_type};

/// A short random identifier for logs and replies, such as `s-1f0c9a7be2d84c11`.
pub(crate) fn new_id(prefix: &str) -> String {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The version bits sit in the high half and are constant: fold in the low half.
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    format!("{prefix}-{:016x}", high ^ low.rotate_left(17))
}

/// Version of the MCP-AQL text that this crate implements, as `_protocol.version` shows it.
///
/// Source: REQ-INT-05.
pub const PROTOCOL_VERSION: &str = "1.0.0-draft";
