//! Locates the items in a JSON answer.

use serde_json::{Map, Value};

use super::object::{BODIES, LONG, MAX_DEPTH, TITLES, is_block, is_failed_reply};
use super::{blocks, python};

/// Names of lists that contain items, regardless of other lists, the most certain first.
const LISTS: [&str; 18] = [
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
];
/// Names of lists that may contain items.
const POSSIBLE_LISTS: [&str; 10] = [
    "data", "result", "content", "pages", "files", "issues", "sections", "notes", "messages",
    "edges",
];
/// Names of lists that contain something else if there is another list.
const OTHER_LISTS: [&str; 12] = [
    "aggregations",
    "authors",
    "errors",
    "facets",
    "filters",
    "relations",
    "relationships",
    "suggestions",
    "tags",
    "users",
    "warnings",
    "_links",
];
/// Members that accompany the items of an answer.
const ACCOMPANYING: [&str; 12] = [
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
/// Parses a string as JSON, or as Python's notation, if it looks like it.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches('\u{feff}');
    let is_json = (text.starts_with('{') && text.ends_with('}'))
        || (text.starts_with('[') && text.ends_with(']'));
    if is_json {
        return serde_json::from_str(text).ok().or_else(|| python::parse(text));
    }
    // Some servers wrap JSON in a code block.
    let fenced = text.strip_prefix("```json")?.strip_suffix("```")?;
    serde_json::from_str(fenced.trim()).ok()
}

/// Parses JSON Lines: an object on each line, and at least two lines.
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

/// Returns `true` if the value is empty, so that the text content is used instead.
pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Returns the string of a value that contains nothing else: `"…"`, `{"result": "…"}`, `{"content":
/// [{"type": "text", …}]}`.
pub(super) fn only_text(value: &Value) -> Option<&str> {
    let mut value = value;
    for _ in 0..MAX_DEPTH {
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

/// The result of searching for items.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ItemSearch<'v> {
    pub(super) items: Vec<&'v Value>,
    /// If `true`, the path does not match this answer.
    pub(super) is_mismatch: bool,
}

impl<'v> ItemSearch<'v> {
    fn these(items: Vec<&'v Value>) -> Self {
        Self { items, is_mismatch: false }
    }
}

/// Returns the items at the path. Without a path, returns those at the most likely location.
pub(super) fn items<'v>(value: &'v Value, path: Option<&str>) -> ItemSearch<'v> {
    if value.as_object().is_some_and(is_failed_reply) {
        return ItemSearch::default();
    }
    let reply = match (value.get("success"), value.get("data")) {
        (Some(Value::Bool(true)), Some(data)) => Some(data),
        _ => None,
    };
    if let Some(path) = path {
        let found = at(value, path);
        return match reply {
            // The path may refer to the whole MCP-AQL reply or to its data.
            Some(data) if found.is_mismatch => at(data, path),
            _ => found,
        };
    }
    let value = reply.unwrap_or(value);
    ItemSearch::these(match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(members) => match list(members) {
            Some(list) if !list.is_empty() || !has_answer(members) => list,
            None if has_only_counts(members) => Vec::new(),
            Some(_) | None => vec![value],
        },
        Value::Null => Vec::new(),
        _ => vec![value],
    })
}

/// Returns `true` if a value could contain items, judged by its form.
pub(super) fn has_items(value: &Value) -> bool {
    let value = match (value.get("success"), value.get("data")) {
        (Some(Value::Bool(true)), Some(data)) => data,
        _ => value,
    };
    match value {
        Value::Array(_) => true,
        Value::Object(members) => {
            only_text(value).is_some() || is_item(members) || list(members).is_some()
        }
        _ => false,
    }
}

/// Returns `true` if an object certainly contains results.
pub(super) fn has_results(members: &Map<String, Value>) -> bool {
    let mut level = vec![members];
    for depth in 0..MAX_DEPTH {
        let is_full = |members: &&Map<String, Value>, names: &[&str]| {
            let list = |name: &&str| members.get(*name).and_then(Value::as_array);
            names.iter().filter_map(list).any(|list| !list.is_empty())
        };
        if level
            .iter()
            .any(|it| is_full(it, &LISTS) || (depth == 0 && is_full(it, &POSSIBLE_LISTS)))
        {
            return true;
        }
        level = below(level);
    }
    false
}

/// Returns the value at a path. If a list is on the way, the rest of the path applies to each of
/// its elements.
///
/// ```text
/// data.items   {"data": {"items": ["a", "b"]}}                → "a", "b"
/// hits.title   {"hits": [{"title": "a"}, {"title": "b"}]}     → "a", "b"
/// /hits/1      {"hits": [{"title": "a"}, {"title": "b"}]}     → {"title": "b"}
/// ```
fn at<'v>(value: &'v Value, path: &str) -> ItemSearch<'v> {
    let is_pointer = path.starts_with('/');
    let steps: Vec<String> = if is_pointer {
        path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
    } else {
        path.split('.').map(str::to_owned).filter(|step| !step.is_empty()).collect()
    };
    let mut found = vec![value];
    for step in &steps {
        // A `null` or an empty list contains no items.
        found.retain(|value| !is_none(value));
        if found.is_empty() {
            return ItemSearch::default();
        }
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
        if found.is_empty() {
            let says_none = value.as_object().is_some_and(has_only_counts);
            return ItemSearch { items: Vec::new(), is_mismatch: !says_none };
        }
    }
    let items = found.into_iter().flat_map(|value| match value {
        Value::Array(items) => items.iter().collect(),
        Value::Null => Vec::new(),
        _ => vec![value],
    });
    ItemSearch::these(items.collect())
}

/// Returns `true` if a value is `null` or an empty list.
fn is_none(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Returns the items of an answer, or `None` if there is not even an empty list. The search is
/// breadth first, so that lists inside items come later.
fn list(members: &Map<String, Value>) -> Option<Vec<&Value>> {
    let mut level = vec![members];
    let mut has_empty = false;
    for _ in 0..MAX_DEPTH {
        let sure: Vec<_> = level.iter().flat_map(|it| lists(it, &LISTS)).collect();
        let items: Vec<_> = sure.iter().flatten().copied().collect();
        if !items.is_empty() {
            return Some(items);
        }
        has_empty |= !sure.is_empty();
        // After an empty list of results, another list only counts if its name may be that of
        // items.
        let maybe: Vec<_> = level.iter().flat_map(|it| maybe(it, has_empty)).collect();
        let items: Vec<_> = maybe.iter().flatten().copied().collect();
        if !items.is_empty() {
            return Some(items);
        }
        has_empty |= !maybe.is_empty();
        level = below(level);
    }
    has_empty.then(Vec::new)
}

/// Returns the objects inside these objects. Items are skipped, because they may contain any lists.
fn below(level: Vec<&Map<String, Value>>) -> Vec<&Map<String, Value>> {
    level
        .into_iter()
        .filter(|members| !is_item(members))
        .flat_map(|members| members.values())
        .filter_map(Value::as_object)
        .collect()
}

/// Returns the lists with these names, in the order of the names. An object whose members are all
/// items counts as a list.
fn lists<'v>(members: &'v Map<String, Value>, names: &[&str]) -> Vec<Vec<&'v Value>> {
    let found = names.iter().filter_map(|name| match members.get(*name)? {
        Value::Array(list) => Some(list.iter().collect()),
        Value::Object(by_name) if by_name.len() >= 2 && by_name.values().all(is_entry) => {
            Some(by_name.values().collect())
        }
        _ => None,
    });
    found.collect()
}

/// Returns `true` if a value has a title or a body.
fn is_entry(value: &Value) -> bool {
    TITLES.iter().chain(&BODIES).any(|name| value.get(*name).is_some_and(Value::is_string))
}

/// Returns the lists that may contain items.
fn maybe(members: &Map<String, Value>, is_named: bool) -> Vec<Vec<&Value>> {
    if is_item(members) {
        return Vec::new();
    }
    let is_of_objects = |list: &Vec<&Value>| list.iter().any(|item| item.is_object());
    let mut named = lists(members, &POSSIBLE_LISTS);
    if is_named {
        named.retain(is_of_objects);
        return named;
    }
    let others = |wanted: bool| {
        let others = members.iter().filter(move |(name, _)| {
            !POSSIBLE_LISTS.contains(&name.as_str())
                && OTHER_LISTS.contains(&name.as_str()) == wanted
        });
        others.filter_map(|(_, member)| Some(member.as_array()?.iter().collect::<Vec<_>>()))
    };
    let mut all: Vec<_> = named.iter().cloned().chain(others(false)).collect();
    all.retain(is_of_objects);
    if all.is_empty() {
        all.extend(others(true).find(is_of_objects));
    }
    if !all.is_empty() {
        return all;
    }
    let is_called = TITLES.iter().any(|name| members.contains_key(*name));
    named.truncate(1);
    if !named.is_empty() && !is_called {
        return named;
    }
    // A list of strings, such as file names, only counts if the answer contains nothing else to
    // read.
    let has_texts = members.values().any(Value::is_string);
    let mut lists = members.values().filter_map(Value::as_array);
    match (lists.next(), lists.next()) {
        (Some(only), None) if !has_texts => vec![only.iter().collect()],
        _ => Vec::new(),
    }
}

/// Returns `true` if an answer has prose of its own in addition to an empty list.
fn has_answer(members: &Map<String, Value>) -> bool {
    members.iter().any(|(name, member)| {
        let text = member.as_str().unwrap_or_default().trim();
        let is_answer = name == "answer" && !text.is_empty();
        let is_long = text.len() > LONG && !ACCOMPANYING.contains(&name.as_str());
        (is_answer || is_long) && !blocks::is_empty(text)
    })
}

/// Returns `true` if an object is a single item rather than an answer that contains items.
fn is_item(members: &Map<String, Value>) -> bool {
    let has =
        |names: &[&str]| names.iter().any(|name| members.get(*name).is_some_and(Value::is_string));
    let has_long = members.iter().any(|(name, member)| {
        !ACCOMPANYING.contains(&name.as_str())
            && member.as_str().is_some_and(|text| text.len() > LONG)
    });
    has_long || (has(&TITLES) && has(&BODIES))
}

/// Returns `true` if an object contains only counts and an echo of the query: `{"query": "x",
/// "total": 0}`.
fn has_only_counts(members: &Map<String, Value>) -> bool {
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
    let says_so = |value: &Value| value.as_str().is_some_and(blocks::is_empty);
    has_no_hits
        || members.values().all(is_empty)
        || (members.values().any(says_so)
            && !members.values().any(|it| it.is_object() || it.is_array()))
}
