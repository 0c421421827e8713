//! A reply to a command.

use mcp_aql_core::OperationResult;

/// A reply of the adapter: its JSON and the parsed result.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) result: OperationResult,
}
