//! The default policy of the guard.

use mcp_aql::safety_loop::SafetyLoop;

/// Returns the protocol's example patterns (MCP-AQL §8.7.4). A policy file replaces each list that it contains.
pub(crate) fn usual() -> SafetyLoop {
    SafetyLoop::new()
        .deny(["drop_*", "delete_all*", "rm -rf*"])
        .requires_approval(["delete_*", "*force*", "deploy_*", "git push*"])
        .auto_approve(["read_*", "list_*", "get_*", "search_*"])
}
