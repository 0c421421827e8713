//! Access to internals for the fuzz target.

use rmcp::model::{CallToolResult, ContentBlock};

use mcp_aql_rank::texts;

use crate::items;

/// Maximum number of items of an answer, and maximum length of each in characters.
pub const LIMITS: (usize, usize) = (20, 300);

/// Splits an answer into items. `answer` is a tool result as JSON, or prose.
pub fn items(answer: &str, path: Option<&str>) -> Vec<String> {
    let answer = serde_json::from_str(answer)
        .unwrap_or_else(|_| CallToolResult::success(vec![ContentBlock::text(answer)]));
    let _ = items::is_failure(&answer);
    let places = items::ItemLocation { path: path.map(str::to_owned), between: None };
    let split = items::split(&answer, &places, LIMITS.0, LIMITS.1);
    split.items.into_iter().map(|item| item.content).collect()
}

/// Returns `true` if cleaning would remove nothing from `content`.
pub fn is_clean(content: &str) -> bool {
    texts::clean(content) == content
}
