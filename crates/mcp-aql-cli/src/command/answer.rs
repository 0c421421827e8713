//! A reply to a command.

use mcp_aql_core::OperationResult;

/// A reply, as text and parsed.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) result: OperationResult,
}
