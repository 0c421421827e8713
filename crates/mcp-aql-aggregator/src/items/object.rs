//! The recognized members of JSON objects, and the formatting of an item as lines for a reader.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::uri;

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
/// Members that contain an item's URI.
const ADDRESSES: [&str; 10] = [
    "uri",
    "url",
    "link",
    "href",
    "html_url",
    "htmlUrl",
    "web_url",
    "permalink",
    "source",
    "source_url",
];

/// Formats an item and returns its URI. The result has at least the first `max_chars` characters.
///
/// ```text
/// {"title": "Backups", "text": "Restore the newest one.", "score": 3}
/// →
/// title: Backups
/// score: 3
/// Restore the newest one.
/// ```
pub(super) fn text(item: &Value, max_chars: usize) -> (String, Option<String>) {
    let item = unwrapped(item);
    let mut text = Bounded { text: String::new(), left: max_chars.saturating_mul(4) + 1000 };
    let mut address = None;
    match item {
        Value::Object(members) => {
            address = ADDRESSES.iter().find_map(|name| uri(members.get(*name)?.as_str()?));
            object(members, &mut text);
        }
        _ => inline(item, &mut text, 0),
    }
    (text.text, address)
}

/// Returns the item inside a wrapper such as `{"node": {…}}` or `{"document": {…}, "score": 0.5}`.
fn unwrapped(item: &Value) -> &Value {
    const WRAPPERS: [&str; 7] =
        ["node", "document", "item", "entity", "_source", "record", "payload"];
    let Value::Object(members) = item else { return item };
    let has_texts = members.iter().any(|(name, member)| {
        member.is_string() && !matches!(name.as_str(), "cursor" | "id" | "_id" | "_index" | "type")
    });
    let wrapped = WRAPPERS.iter().find_map(|name| members.get(*name).filter(|it| it.is_object()));
    match wrapped {
        Some(wrapped) if !has_texts => wrapped,
        _ => item,
    }
}

/// A string with a maximum length.
struct Bounded {
    text: String,
    left: usize,
}

impl Bounded {
    fn push(&mut self, text: &str) {
        if self.left == 0 {
            return;
        }
        match text.char_indices().nth(self.left) {
            Some((at, _)) => {
                self.text.push_str(text.get(..at).unwrap_or_default());
                self.left = 0;
            }
            None => {
                self.text.push_str(text);
                self.left -= text.chars().count();
            }
        }
    }
}

/// Formats one line per member: titles first, then short members, then the body.
fn object(members: &Map<String, Value>, text: &mut Bounded) {
    if is_block(members)
        && let Some(Value::String(only)) = members.get("text")
    {
        text.push(only);
        return;
    }
    let rank = |name: &str, member: &Value| {
        if let Some(place) = TITLES.iter().position(|title| *title == name) {
            return (0, place);
        }
        let is_body = BODIES.contains(&name) && member.is_string();
        let is_long = match member {
            Value::String(text) => text.len() > LONG || text.contains('\n'),
            Value::Array(_) | Value::Object(_) => true,
            _ => false,
        };
        (
            if is_body {
                3
            } else if is_long {
                2
            } else {
                1
            },
            0,
        )
    };
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(name, member)| rank(name, member));
    let mut is_first = true;
    for (name, member) in sorted {
        if text.left == 0 {
            break;
        }
        if is_blank(member) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            text.push("\n");
        }
        match member {
            // The body is written without its name, so that it reads the same from every server.
            Value::String(body) if BODIES.contains(&name.as_str()) => text.push(body),
            _ => {
                text.push(name);
                text.push(": ");
                inline(member, text, 1);
            }
        }
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Formats a value on one line, for example `a, b` or `name: x, size: 3`.
fn inline(value: &Value, text: &mut Bounded, depth: usize) {
    if text.left == 0 {
        return;
    }
    match value {
        Value::String(only) => text.push(only),
        Value::Array(items) if depth < MAX_DEPTH => {
            // Semicolons separate elements that contain commas or spaces.
            let has_long = items.iter().any(|item| {
                item.is_object() || item.as_str().is_some_and(|text| text.contains([' ', ',']))
            });
            let between = if has_long { "; " } else { ", " };
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(between);
                }
                inline(item, text, depth + 1);
            }
        }
        Value::Object(members) if depth < MAX_DEPTH => {
            let mut is_first = true;
            for (name, member) in members.iter().filter(|(_, member)| !is_blank(member)) {
                if !std::mem::take(&mut is_first) {
                    text.push(", ");
                }
                text.push(name);
                text.push(": ");
                inline(member, text, depth + 1);
            }
        }
        Value::Array(_) | Value::Object(_) => text.push("…"),
        _ => {
            let mut plain = String::new();
            if write!(plain, "{value}").is_ok() {
                text.push(&plain);
            }
        }
    }
}

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
