//! The guard's default policy.

use mcp_aql::safety_loop::SafetyLoop;

/// Returns the example patterns of MCP-AQL §8.7.4. Each list in a policy file replaces the list of the same name here.
pub(crate) fn usual() -> SafetyLoop {
    SafetyLoop::new()
        .deny(["drop_*", "delete_all*", "rm -rf*"])
        .requires_approval(["delete_*", "*force*", "deploy_*", "git push*"])
        .auto_approve(["read_*", "list_*", "get_*", "search_*"])
}
