use mcp_aql::safety_loop::SafetyLoop;

/// The protocol's own example patterns (MCP-AQL §8.7.4). A policy file replaces the lists that it has.
pub(crate) fn usual() -> SafetyLoop {
    SafetyLoop::new()
        .deny(["drop_*", "delete_all*", "rm -rf*"])
        .requires_approval(["delete_*", "*force*", "deploy_*", "git push*"])
        .auto_approve(["read_*", "list_*", "get_*", "search_*"])
}
