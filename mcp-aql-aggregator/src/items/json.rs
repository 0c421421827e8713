//! Items in JSON: where they are, and how they read.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::uri;

/// Lists that are called like this are of items, the surest first.
const LISTS: [&str; 27] = [
    "items",
    "results",
    "hits",
    "matches",
    "documents",
    "docs",
    "entities",
    "nodes",
    "records",
    "rows",
    "entries",
    "data",
    "articles",
    "pages",
    "files",
    "issues",
    "observations",
    "snippets",
    "chunks",
    "passages",
    "sections",
    "memories",
    "notes",
    "messages",
    "edges",
    "content",
    "result",
];
/// What an item is called by.
const TITLES: [&str; 8] = ["title", "name", "heading", "subject", "label", "headline", "key", "id"];
/// What an item says.
const BODIES: [&str; 13] = [
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
/// Where an item is.
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
/// What answers say beside their items.
const TALK: [&str; 12] = [
    "query",
    "message",
    "status",
    "note",
    "hint",
    "info",
    "warning",
    "summary",
    "instructions",
    "next",
    "nextCursor",
    "cursor",
];
/// Deeper down nothing is looked for, and nothing is written.
const DEEPEST: usize = 6;
/// So long a text is worth a line of its own.
const LONG: usize = 80;

/// A text as JSON, if it is meant as such.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches('\u{feff}');
    let is_json = (text.starts_with('{') && text.ends_with('}'))
        || (text.starts_with('[') && text.ends_with(']'));
    if is_json {
        return serde_json::from_str(text).ok();
    }
    // Some wrap it for a model's eyes.
    let fenced = text.strip_prefix("```json")?.strip_suffix("```")?;
    serde_json::from_str(fenced.trim()).ok()
}

/// An object on each line.
pub(super) fn lines(text: &str) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !line.starts_with('{') {
            return None;
        }
        values.push(serde_json::from_str(line).ok()?);
    }
    (values.len() >= 2).then_some(values)
}

/// Whether there is nothing in it to look at, so that the text is looked at.
pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Whether it is an MCP-AQL reply that is a failure.
pub(super) fn is_failure(value: &Value) -> bool {
    value.get("success") == Some(&Value::Bool(false)) && value.get("error").is_some()
}

/// The text of what is nothing but a text: `"…"`, `{"result": "…"}`, `{"content": [{"type": "text", …}]}`.
pub(super) fn only_text(value: &Value) -> Option<&str> {
    let mut value = value;
    for _ in 0..DEEPEST {
        match value {
            Value::String(text) => return Some(text),
            Value::Object(members) => match members.get("text") {
                Some(text) if is_block(members) => value = text,
                _ => {
                    let mut members = members.values();
                    value = members.next()?;
                    if members.next().is_some() {
                        return None;
                    }
                }
            },
            Value::Array(items) => match items.as_slice() {
                [only @ Value::Object(members)] if is_block(members) => value = only,
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// A text as MCP has it: `{"type": "text", "text": "…"}`.
fn is_block(members: &Map<String, Value>) -> bool {
    members.len() <= 3
        && members.get("type").is_some_and(|kind| kind == "text")
        && members.get("text").is_some_and(Value::is_string)
}

/// How long it would be as text.
pub(super) fn bytes(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => 0,
    }
}

/// The items, at the path, or where they probably are.
pub(super) fn items<'v>(value: &'v Value, path: Option<&str>) -> Vec<&'v Value> {
    let value = match (value.get("success"), value.get("data")) {
        // An MCP-AQL reply: the path may be one in it, or begin at its data.
        (Some(Value::Bool(true)), Some(data)) => match path {
            Some(path) => {
                let found = at(value, path);
                return if found.is_empty() { at(data, path) } else { found };
            }
            None => data,
        },
        (Some(Value::Bool(false)), _) if is_failure(value) => return Vec::new(),
        _ => match path {
            Some(path) => return at(value, path),
            None => value,
        },
    };
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(members) => match list(members) {
            Some(list) => list.iter().collect(),
            None if is_only_talk(members) => Vec::new(),
            None => vec![value],
        },
        Value::Null => Vec::new(),
        _ => vec![value],
    }
}

/// What is at a path. Where a list stands on the way, the rest of the path is taken in each of its elements.
fn at<'v>(value: &'v Value, path: &str) -> Vec<&'v Value> {
    let is_pointer = path.starts_with('/');
    let steps: Vec<String> = if is_pointer {
        path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
    } else {
        path.split('.').map(str::to_owned).filter(|step| !step.is_empty()).collect()
    };
    let mut found = vec![value];
    for step in &steps {
        found = found
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(items) => match step.parse::<usize>() {
                    Ok(place) => items.get(place).into_iter().collect(),
                    Err(_) => items.iter().filter_map(|item| item.get(step)).collect(),
                },
                _ => value.get(step).into_iter().collect::<Vec<_>>(),
            })
            .collect();
    }
    found
        .into_iter()
        .flat_map(|value| match value {
            Value::Array(items) => items.iter().collect(),
            Value::Null => Vec::new(),
            _ => vec![value],
        })
        .collect()
}

/// The list of items in an answer: breadth first, so that the lists of the items themselves come later.
fn list(members: &Map<String, Value>) -> Option<&Vec<Value>> {
    // What has a text of its own is an item, whatever lists are in it.
    if is_item(members) {
        return None;
    }
    let mut level = vec![members];
    for _ in 0..DEEPEST {
        if let Some(found) = level.iter().find_map(|members| list_of(members)) {
            return Some(found);
        }
        level = level
            .into_iter()
            .flat_map(|members| members.values())
            .filter_map(Value::as_object)
            .filter(|members| !is_item(members))
            .collect();
        if level.is_empty() {
            return None;
        }
    }
    None
}

/// The list among the members, if there is one of items.
fn list_of(members: &Map<String, Value>) -> Option<&Vec<Value>> {
    let named = LISTS.iter().find_map(|name| members.get(*name)?.as_array());
    let is_of_objects = |list: &&Vec<Value>| list.iter().any(Value::is_object);
    named
        .filter(|list| is_of_objects(list))
        .or_else(|| members.values().filter_map(Value::as_array).find(is_of_objects))
        .or(named)
        .or_else(|| {
            // Texts, such as names of files: where there is nothing else to read.
            let has_texts = members.values().any(Value::is_string);
            let mut lists = members.values().filter_map(Value::as_array);
            lists.next().filter(|_| !has_texts && lists.next().is_none())
        })
}

/// Whether it is one item, not an answer with items in it.
fn is_item(members: &Map<String, Value>) -> bool {
    let has =
        |names: &[&str]| names.iter().any(|name| members.get(*name).is_some_and(Value::is_string));
    let has_long = members.iter().any(|(name, member)| {
        !TALK.contains(&name.as_str()) && member.as_str().is_some_and(|text| text.len() > LONG)
    });
    has_long || (has(&TITLES) && has(&BODIES))
}

/// Counts and echoes of the query alone: `{"query": "x", "total": 0}`.
fn is_only_talk(members: &Map<String, Value>) -> bool {
    const COUNTS: [&str; 7] = [
        "total",
        "count",
        "totalCount",
        "total_count",
        "total_results",
        "totalResults",
        "num_results",
    ];
    let has_no_hits =
        COUNTS.iter().any(|name| members.get(*name).is_some_and(|count| count.as_u64() == Some(0)));
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    has_no_hits || members.values().all(is_empty)
}

/// An item as text, at least its first `most_chars` characters, and its address.
pub(super) fn text(item: &Value, most_chars: usize) -> (String, Option<String>) {
    let item = unwrapped(item);
    let mut text = Bounded { text: String::new(), left: most_chars.saturating_mul(4) + 1000 };
    let mut address = None;
    match item {
        Value::Object(members) => {
            address = ADDRESSES
                .iter()
                .find_map(|name| members.get(*name)?.as_str())
                .and_then(|told| uri(told));
            object(members, &mut text);
        }
        _ => inline(item, &mut text, 0),
    }
    (text.text, address)
}

/// `{"node": {…}}`, `{"document": {…}, "score": 0.5}`: what is wrapped is the item.
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

/// A text that stops growing.
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

/// A line for each member: what it is called by, what is short, and what it says.
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
            // What it says needs no name, and reads the same from every server.
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

/// A value in one line: `a, b`, `name: x, size: 3`.
fn inline(value: &Value, text: &mut Bounded, depth: usize) {
    if text.left == 0 {
        return;
    }
    match value {
        Value::String(only) => text.push(only),
        Value::Array(items) if depth < DEEPEST => {
            // Sentences are told apart by more than a comma.
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
        Value::Object(members) if depth < DEEPEST => {
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
