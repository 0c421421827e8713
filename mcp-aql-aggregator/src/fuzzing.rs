//! What the fuzz target needs of the inside.

use rmcp::model::{CallToolResult, ContentBlock};

use crate::{items, text};

/// The most of an answer that is kept, and how long each of its items.
pub const MOST: (usize, usize) = (20, 300);

/// The items of an answer: the JSON of a tool's result, or text.
pub fn items(answer: &str, path: Option<&str>) -> Vec<String> {
    let answer = serde_json::from_str(answer)
        .unwrap_or_else(|_| CallToolResult::success(vec![ContentBlock::text(answer)]));
    let _ = items::is_failure(&answer);
    let places = items::Places { path: path.map(str::to_owned), between: None };
    let split = items::split(&answer, &places, MOST.0, MOST.1);
    split.items.into_iter().map(|item| item.content).collect()
}

/// Whether nothing is left in a text that has to be taken out.
pub fn is_clean(content: &str) -> bool {
    text::clean(content) == content
}
