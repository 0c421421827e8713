//! Converts Python's notation of lists and dictionaries to JSON, because some servers send it
//! instead.
//!
//! ```text
//! [{'id': 1, 'name': 'a', 'parent': None}]  →  [{"id": 1, "name": "a", "parent": null}]
//! ```

use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::Value;

/// Parses a string that consists of one Python list or dictionary.
pub(super) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(&json(text)?).ok()
}

/// Converts the strings, words and tuples of Python to those of JSON. Returns `None` for anything
/// else that JSON does not have.
fn json(text: &str) -> Option<String> {
    let mut json = String::with_capacity(text.len() + text.len() / 8);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' | '"' => string(c, &mut chars, &mut json)?,
            '(' => json.push('['),
            ')' => json.push(']'),
            // Python permits a comma before the end.
            ',' if text.get(at + 1..)?.trim_start().starts_with([']', '}', ')']) => {}
            'N' | 'T' | 'F' => {
                let words = [("None", "null"), ("True", "true"), ("False", "false")];
                let (word, other) = words
                    .iter()
                    .find(|(it, _)| text.get(at..).is_some_and(|rest| rest.starts_with(it)))?;
                chars.nth(word.len() - 2);
                json.push_str(other);
            }
            c if c.is_alphabetic() && c != 'e' => return None,
            _ => json.push(c),
        }
    }
    Some(json)
}

/// Converts a string after its opening quote.
fn string(quote: char, chars: &mut Peekable<CharIndices<'_>>, json: &mut String) -> Option<()> {
    json.push('"');
    loop {
        match chars.next()?.1 {
            '\\' => match chars.next()?.1 {
                '\'' => json.push('\''),
                'x' => json.push_str("\\u00"),
                known @ ('\\' | '"' | 'n' | 't' | 'r' | 'u') => json.extend(['\\', known]),
                other => json.extend(['\\', '\\', other]),
            },
            c if c == quote => break,
            '"' => json.push_str("\\\""),
            c => json.push(c),
        }
    }
    json.push('"');
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_python_literals() {
        for (text, expected) in [
            ("[{'id': 1, 'text': 'it\\'s'}]", json!([{ "id": 1, "text": "it's" }])),
            (
                "[{'a': \"it's\", 'b': None, 'c': True, 'd': -1.5e3}]",
                json!([{ "a": "it's", "b": null, "c": true, "d": -1500.0 }]),
            ),
            ("[(1, 'x'), ('y',)]", json!([[1, "x"], ["y"]])),
            ("{'k': 'a\\n\\x41\\u00e9\\\\'}", json!({ "k": "a\nAé\\" })),
            ("{'a': 'b \"c\"'}", json!({ "a": "b \"c\"" })),
            (" [] ", json!([])),
            ("{'a': {'b': []},}", json!({ "a": { "b": [] } })),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in [
            "[x]",
            "{1: 'a'}",
            "[b'bytes']",
            "[1",
            "[1 2]",
            "['a",
            "['\\x4']",
            "[1] and more",
            "{[]: 1}",
            "{'a'}",
            "",
            "[--]",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[\\[\\](){}'\":,\\\\ xu0-9éNone-]{0,40}") {
            let _ = parse(&text);
            let _ = parse(&format!("[{text}]"));
        }
    }
}
