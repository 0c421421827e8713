//! Items in JSON: where they are.

use serde_json::{Map, Value};

use super::blocks;
use super::object::{BODIES, DEEPEST, LONG, TITLES};

/// Lists that are called like this are of items, whatever stands beside them, the surest first.
const LISTS: [&str; 19] = [
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
    "articles",
    "snippets",
    "chunks",
    "passages",
    "search_results",
    "searchResults",
    "memories",
    "edges",
];
/// Lists that are called like this may be of items.
const MAYBE: [&str; 9] =
    ["data", "result", "content", "pages", "files", "issues", "sections", "notes", "messages"];
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
pub(super) fn is_block(members: &Map<String, Value>) -> bool {
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
    let mut level = vec![members];
    for _ in 0..DEEPEST {
        if let Some(found) = level.iter().find_map(|members| list_of(members)) {
            return Some(found);
        }
        level = level
            .into_iter()
            // What has a text of its own is an item, whatever lists are in it.
            .filter(|members| !is_item(members))
            .flat_map(|members| members.values())
            .filter_map(Value::as_object)
            .collect();
    }
    None
}

/// The list among the members, if there is one of items.
fn list_of(members: &Map<String, Value>) -> Option<&Vec<Value>> {
    let named = |names: &[&str]| names.iter().find_map(|name| members.get(*name)?.as_array());
    if let Some(sure) = named(&LISTS) {
        return Some(sure);
    }
    if is_item(members) {
        return None;
    }
    let is_of_objects = |list: &&Vec<Value>| list.iter().any(Value::is_object);
    let maybe = named(&MAYBE);
    let lists = || members.values().filter_map(Value::as_array);
    let is_called = TITLES.iter().any(|name| members.contains_key(*name));
    maybe
        .filter(|list| is_of_objects(list))
        .or_else(|| lists().find(is_of_objects))
        .or(maybe.filter(|_| !is_called))
        // Texts, such as names of files: where there is nothing else to read.
        .or_else(|| {
            let has_texts = members.values().any(Value::is_string);
            lists().next().filter(|_| !has_texts && lists().count() == 1)
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
    let says_so = |value: &Value| value.as_str().is_some_and(|it| blocks::is_empty(it));
    has_no_hits
        || members.values().all(is_empty)
        || (members.values().any(says_so)
            && !members.values().any(|it| it.is_object() || it.is_array()))
}
