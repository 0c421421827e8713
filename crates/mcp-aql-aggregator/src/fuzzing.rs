//! Internals that the fuzz target needs.

use rmcp::model::{CallToolResult, ContentBlock};

use mcp_aql_rank::texts;

use crate::items;

/// The maximum number of items kept of an answer, and the maximum length of each.
pub const LIMITS: (usize, usize) = (20, 300);

/// Splits an answer into items. The answer is a tool result as JSON, or plain text.
pub fn items(answer: &str, path: Option<&str>) -> Vec<String> {
    let answer = serde_json::from_str(answer)
        .unwrap_or_else(|_| CallToolResult::success(vec![ContentBlock::text(answer)]));
    let _ = items::is_failure(&answer);
    let places = items::ItemLocation { path: path.map(str::to_owned), between: None };
    let split = items::split(&answer, &places, LIMITS.0, LIMITS.1);
    split.items.into_iter().map(|item| item.content).collect()
}

/// Returns whether a text contains nothing that cleaning would remove.
pub fn is_clean(content: &str) -> bool {
    texts::clean(content) == content
}
