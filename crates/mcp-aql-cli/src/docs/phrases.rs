//! Phrases for constraints, sizes and limits.

use mcp_aql_core::EndpointMode;
use serde_json::Value;

use super::introspection::Info;
use super::prose::Span;
use super::reference::Reference;

/// Formats a size: `1048576` → `1 MiB`.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} bytes", count(bytes)),
    }
}

/// Formats a number: `10000` → `10,000`.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the constraints of a value, one phrase each.
pub(super) fn constraints(info: &Info) -> Vec<Vec<Span>> {
    let mut phrases = Vec::new();
    if !info.allowed.is_empty() {
        let start = if info.allowed.len() == 1 { "always " } else { "one of " };
        let mut phrase = vec![Span::text(start)];
        for (index, value) in info.allowed.iter().enumerate() {
            if index > 0 {
                phrase.push(Span::text(", "));
            }
            phrase.push(Span::code(literal(value)));
        }
        phrases.push(phrase);
    }
    if let Some(range) = range(info.minimum.as_ref(), info.maximum.as_ref()) {
        phrases.push(vec![Span::text(range)]);
    }
    if let Some(length) = length(info.min_length, info.max_length) {
        phrases.push(vec![Span::text(length)]);
    }
    if let Some(format) = &info.format {
        phrases.push(vec![Span::text("format "), Span::code(format.as_str())]);
    }
    if let Some(pattern) = &info.pattern {
        phrases.push(vec![Span::text("matches "), Span::code(pattern.as_str())]);
    }
    if let Some(items) = &info.items {
        for mut phrase in constraints(items) {
            phrase.insert(0, Span::text("each "));
            phrases.push(phrase);
        }
    }
    phrases
}

/// Formats a value as in a request. A string has no quotes if it cannot be mistaken for another type.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) if is_word(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_word(text: &str) -> bool {
    let reads_as_json = serde_json::from_str::<Value>(text).is_ok();
    !text.is_empty() && !reads_as_json && !text.contains(|each: char| each.is_whitespace())
}

fn range(least: Option<&Value>, most: Option<&Value>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("{least} or more")),
        (None, Some(most)) => Some(format!("{most} or less")),
        (None, None) => None,
    }
}

fn length(least: Option<usize>, most: Option<usize>) -> Option<String> {
    let characters = |number| if number == 1 { "character" } else { "characters" };
    match (least.filter(|least| *least > 0), most) {
        (Some(least), Some(most)) if least == most => {
            Some(format!("{} {}", count(least), characters(least)))
        }
        (Some(least), Some(most)) => {
            Some(format!("{} to {} {}", count(least), count(most), characters(most)))
        }
        (Some(least), None) => Some(format!("{} or more characters", count(least))),
        (None, Some(most)) => Some(format!("up to {} {}", count(most), characters(most))),
        (None, None) => None,
    }
}

/// Returns the adapter's mode and limits, one row each.
pub(super) fn facts(reference: &Reference) -> Vec<(&'static str, Vec<Span>)> {
    let protocol = &reference.protocol;
    let limits = &reference.limits;
    let text = |text: String| vec![Span::Text(text)];
    let mut mode = vec![Span::code(reference.mode.as_str())];
    mode.extend(match (reference.mode, &reference.unified_tool) {
        (EndpointMode::All, Some(tool)) => {
            vec![
                Span::text(": a tool for each family, and "),
                Span::code(tool.as_str()),
                Span::text(" for everything"),
            ]
        }
        (EndpointMode::Single, Some(tool)) => {
            vec![
                Span::text(": one tool, "),
                Span::code(tool.as_str()),
                Span::text(", for everything"),
            ]
        }
        _ => vec![Span::text(": a tool for each family")],
    });
    let mut can: Vec<Span> = Vec::new();
    for (name, _) in protocol.capabilities.iter().filter(|(_, has)| **has) {
        if !can.is_empty() {
            can.push(Span::text(", "));
        }
        can.push(Span::code(name.as_str()));
    }
    let mut rows = vec![
        ("Endpoint mode", mode),
        ("Endpoint profile", vec![Span::code(reference.profile.as_str())]),
        ("Conformance", vec![Span::code(protocol.conformance.as_str())]),
        ("Capabilities", can),
        ("Concurrency", vec![Span::code(protocol.concurrency.as_str())]),
        ("Largest request", text(size(limits.max_request_size))),
        ("Largest reply", text(size(limits.max_response_size))),
        ("Longest string", text(size(limits.max_string_length))),
        ("Longest list", text(format!("{} elements", count(limits.max_array_elements)))),
        ("Deepest nesting", text(format!("{} levels", limits.max_nesting_depth))),
    ];
    if protocol.capabilities.get("batch") == Some(&true) {
        let most = format!("{} operations", count(limits.max_batch_operations));
        rows.push(("Largest batch", text(most)));
    }
    if let Some(most) = protocol.max_concurrent_requests {
        rows.push(("Calls at a time", text(count(most))));
    }
    rows
}

/// Formats the position of a result for display after its type: ` in data.task.`, with the member as code.
pub(super) fn place(text: &str) -> Vec<Span> {
    let (mut plain, rest) = match text.split_once(' ') {
        Some((preposition @ ("In" | "As"), rest)) => {
            (format!(" {} ", preposition.to_lowercase()), rest)
        }
        _ => (": ".to_owned(), text),
    };
    let mut spans = Vec::new();
    for word in rest.split_inclusive(' ') {
        let name = word.trim_end_matches([' ', ',', '.']);
        if name == "data" || name.starts_with("data.") {
            spans.push(Span::Text(std::mem::take(&mut plain)));
            spans.push(Span::code(name));
            plain.push_str(word.strip_prefix(name).unwrap_or_default());
        } else {
            plain.push_str(word);
        }
    }
    spans.push(Span::Text(plain));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn phrases(info: Value) -> Vec<String> {
        let info: Info = serde_json::from_value(info).unwrap();
        let text = |span: &Span| match span {
            Span::Code(code) => format!("`{code}`"),
            Span::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        constraints(&info).iter().map(|phrase| phrase.iter().map(text).collect()).collect()
    }

    #[test]
    fn constraints_become_phrases() {
        for (info, expected) in [
            (json!({ "minimum": 1, "maximum": 5 }), &["1 to 5"][..]),
            (json!({ "minimum": -0.5 }), &["-0.5 or more"]),
            (json!({ "maximum": 9 }), &["9 or less"]),
            (json!({ "minLength": 1, "maxLength": 5000 }), &["1 to 5,000 characters"]),
            (json!({ "minLength": 0, "maxLength": 1 }), &["up to 1 character"]),
            (json!({ "minLength": 2, "maxLength": 2 }), &["2 characters"]),
            (json!({ "enum": ["a", "1", 1, "b c"] }), &["one of `a`, `\"1\"`, `1`, `\"b c\"`"]),
            (
                json!({ "format": "date", "pattern": "^a|b$" }),
                &["format `date`", "matches `^a|b$`"],
            ),
            (json!({ "items": { "minLength": 3 } }), &["each 3 or more characters"]),
            (json!({ "enum": ["out"] }), &["always `out`"]),
            (json!({}), &[]),
        ] {
            assert_eq!(phrases(info), expected);
        }
    }

    #[test]
    fn sizes_and_counts_are_readable() {
        assert_eq!([size(1 << 20), size(64 << 10), size(1500)], ["1 MiB", "64 KiB", "1,500 bytes"]);
        assert_eq!([count(7), count(100), count(1_234_567)], ["7", "100", "1,234,567"]);
        assert_eq!(
            place("In data.task."),
            [Span::text(" in "), Span::code("data.task"), Span::text(".")]
        );
    }
}
