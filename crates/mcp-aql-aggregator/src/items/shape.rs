//! The recognized shapes of JSON: members of items, content blocks and replies.

use serde_json::{Map, Value};

/// Members that contain an item's title.
pub(super) const TITLES: [&str; 8] =
    ["title", "name", "heading", "subject", "label", "headline", "key", "id"];
/// Members that contain an item's body.
pub(super) const BODIES: [&str; 13] = [
    "text",
    "content",
    "body",
    "snippet",
    "summary",
    "description",
    "excerpt",
    "passage",
    "chunk",
    "markdown",
    "document",
    "page_content",
    "pageContent",
];
/// Maximum depth to search and to format.
pub(super) const MAX_DEPTH: usize = 6;
/// Length in bytes above which a string gets a line of its own.
pub(super) const LONG: usize = 80;

/// Returns `true` if an object is an MCP text block: `{"type": "text", "text": "…"}`.
pub(super) fn is_block(members: &Map<String, Value>) -> bool {
    members.len() <= 3
        && members.get("type").is_some_and(|kind| kind == "text")
        && members.get("text").is_some_and(Value::is_string)
}

/// Returns `true` if an object is an MCP-AQL reply that reports a failure.
pub(super) fn is_failed_reply(members: &Map<String, Value>) -> bool {
    members.get("success") == Some(&Value::Bool(false)) && members.contains_key("error")
}
