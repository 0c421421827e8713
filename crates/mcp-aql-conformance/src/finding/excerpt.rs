//! Cuts a received value to the parts that matter for a finding.

use serde_json::{Map, Value};

use super::{Finding, counted, shorten};
use crate::json_size::length_up_to;

/// Maximum length of a value shown whole, in bytes of JSON.
const MAX_WHOLE_BYTES: usize = 300;
/// Maximum length of a member shown next to the parts that matter, in bytes of JSON.
const MAX_MEMBER_BYTES: usize = 90;
/// Maximum length of a string in an excerpt, in bytes.
const MAX_EXCERPT_TEXT_BYTES: usize = 240;
/// Number of items shown of a list without differences.
const MAX_ITEMS: usize = 2;
/// Depth of an excerpt without differences.
const MAX_DEPTH: usize = 2;
/// Maximum number of compared parts. The limit bounds the time for searching large replies.
const MAX_COMPARED: usize = 20_000;

/// Cuts the received value to the members with differences. Without any, keeps the members named in the messages.
pub(super) fn cut(finding: &mut Finding) {
    for difference in &mut finding.differences {
        if let Some(received) = &mut difference.received {
            *received = collapsed(received, MAX_EXCERPT_TEXT_BYTES);
        }
    }
    if length_up_to(MAX_WHOLE_BYTES, &finding.received).is_some() {
        return;
    }
    if finding.differences.is_empty() {
        let message = format!("{} {}", finding.expected, finding.fix);
        let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let names: Vec<&str> = names.into_iter().flat_map(|name| name.split(['.', '/'])).collect();
        finding.received = outline(&finding.received, &names, 0);
    } else {
        let paths: Vec<Vec<String>> =
            finding.differences.iter().map(|difference| steps(&difference.path)).collect();
        let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
        finding.received = around(&finding.received, &paths);
    }
}

/// Returns the JSON pointer to a part of a value.
///
/// Returns `None` for a scalar, and for a part not found within [`MAX_COMPARED`] comparisons.
pub(super) fn pointer_to(part: &Value, whole: &Value) -> Option<String> {
    if part == whole {
        return Some(String::new());
    }
    if !part.is_object() && !part.is_array() {
        return None;
    }
    let mut compared = 0;
    search(part, whole, &mut String::new(), &mut compared)
}

fn search(part: &Value, whole: &Value, path: &mut String, compared: &mut usize) -> Option<String> {
    *compared += 1;
    if *compared > MAX_COMPARED {
        return None;
    }
    if part == whole {
        return Some(path.clone());
    }
    let length = path.len();
    let mut step = |name: &str, member: &Value| {
        path.push('/');
        path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let found = search(part, member, path, compared);
        path.truncate(length);
        found
    };
    match whole {
        Value::Object(members) => members.iter().find_map(|(name, member)| step(name, member)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| step(&at.to_string(), item))
        }
        _ => None,
    }
}

/// Returns the unescaped steps of a JSON pointer.
fn steps(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

/// Keeps the members on these paths and collapses the others.
fn around(value: &Value, paths: &[&[String]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return collapsed(value, MAX_WHOLE_BYTES);
    }
    let beyond = |name: &str| -> Vec<&[String]> {
        let rests = paths.iter().filter_map(|path| path.split_first());
        rests.filter(|(first, _)| *first == name).map(|(_, rest)| rest).collect()
    };
    match value {
        Value::Object(members) => {
            let keep = |(name, member): (&String, &Value)| {
                let paths = beyond(name);
                let kept = match paths.is_empty() {
                    true => collapsed(member, MAX_MEMBER_BYTES),
                    false => around(member, &paths),
                };
                (name.clone(), kept)
            };
            Value::Object(members.iter().map(keep).collect())
        }
        Value::Array(items) => {
            let mut kept = Vec::new();
            let mut hidden = 0;
            for (at, item) in items.iter().enumerate() {
                let paths = beyond(&at.to_string());
                if paths.is_empty() {
                    hidden += 1;
                    continue;
                }
                push_hidden(&mut kept, &mut hidden);
                kept.push(around(item, &paths));
            }
            push_hidden(&mut kept, &mut hidden);
            Value::Array(kept)
        }
        _ => collapsed(value, MAX_WHOLE_BYTES),
    }
}

/// Appends a note about hidden items.
fn push_hidden(kept: &mut Vec<Value>, hidden: &mut usize) {
    if *hidden > 0 {
        kept.push(Value::String(format!("… ({})", counted(*hidden, "item"))));
        *hidden = 0;
    }
}

/// Keeps the members with these names and the beginning of everything else.
fn outline(value: &Value, names: &[&str], depth: usize) -> Value {
    if length_up_to(MAX_MEMBER_BYTES, value).is_some() {
        return value.clone();
    }
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, member) in members {
                let is_named = names.contains(&name.as_str());
                let is_core = matches!(name.as_str(), "success" | "error" | "code" | "message");
                let shown = match (is_named || is_core, depth) {
                    (true, _) | (false, ..MAX_DEPTH) => outline(member, names, depth + 1),
                    (false, _) => collapsed(member, MAX_MEMBER_BYTES),
                };
                kept.insert(name.clone(), shown);
            }
            Value::Object(kept)
        }
        Value::Array(items) if depth < MAX_DEPTH => {
            let mut kept: Vec<Value> =
                items.iter().take(MAX_ITEMS).map(|item| outline(item, names, depth + 1)).collect();
            let mut hidden = items.len() - kept.len();
            push_hidden(&mut kept, &mut hidden);
            Value::Array(kept)
        }
        _ => collapsed(value, MAX_EXCERPT_TEXT_BYTES),
    }
}

/// Returns the value if it is short, and otherwise a description of its size.
///
/// ```text
/// {"a": …, "b": …}  →  "… (object with 2 members)"
/// ```
fn collapsed(value: &Value, most: usize) -> Value {
    if length_up_to(most, value).is_some() {
        return value.clone();
    }
    match value {
        Value::Object(members) => {
            Value::String(format!("… (object with {})", counted(members.len(), "member")))
        }
        Value::Array(items) => {
            Value::String(format!("… (list of {})", counted(items.len(), "item")))
        }
        Value::String(text) => {
            let mut text = text.clone();
            shorten(&mut text, most);
            Value::String(text)
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Difference;
    use super::*;

    #[test]
    fn reply_is_cut_around_the_differing_members() {
        let entry = |name: &str| json!({ "element_name": name, "description": "x".repeat(200) });
        let entries: Vec<_> = (0..80).map(|at| entry(&format!("op_{at}"))).collect();
        let received = json!({ "success": true, "data": { "operations": entries } });
        let part = received["data"]["operations"][7].clone();
        let difference = Difference {
            path: "/element_name".to_owned(),
            expected: "no such member".to_owned(),
            received: Some(json!("op_7")),
        };
        let mut finding = Finding::shown("entry 7", received)
            .expected("x")
            .fix("y")
            .with_differences(&part, vec![difference], "");
        assert_eq!(finding.differences[0].path, "/data/operations/7/element_name");
        cut(&mut finding);
        assert_eq!(
            finding.received,
            json!({ "success": true, "data": { "operations": [
                "… (7 items)",
                { "element_name": "op_7", "description": format!("{}… (200 bytes)", "x".repeat(18)) },
                "… (72 items)",
            ] } })
        );
    }

    #[test]
    fn reply_without_differences_keeps_its_outline() {
        let received = json!({
            "success": false, "error": { "code": "X", "message": "m".repeat(100) },
            "list": (0..100).collect::<Vec<_>>(), "short": [1],
        });
        let mut finding = Finding::shown("x", received).expected("a success").fix("y");
        cut(&mut finding);
        assert_eq!(finding.received["list"], json!([0, 1, "… (98 items)"]));
        assert_eq!(finding.received["error"]["message"], "m".repeat(100));
        assert_eq!(finding.received["short"], json!([1]));
    }

    #[test]
    fn short_replies_stay_whole() {
        let received = json!({ "a": [1, 2, 3, 4] });
        let mut finding = Finding::shown("x", received.clone()).expected("`a`").fix("y");
        cut(&mut finding);
        assert_eq!(finding.received, received);
    }

    #[test]
    fn finds_a_part_in_a_value() {
        let whole = json!({ "a/b": [{ "c": 1 }], "n": null });
        assert_eq!(pointer_to(&json!({ "c": 1 }), &whole).as_deref(), Some("/a~1b/0"));
        assert_eq!(pointer_to(&whole, &whole).as_deref(), Some(""));
        assert_eq!(pointer_to(&json!({ "c": 2 }), &whole), None);
        // Scalars are equal by accident too often to be located.
        assert_eq!(pointer_to(&Value::Null, &whole), None);
    }
}
