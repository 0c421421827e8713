//! Parses Python's notation of lists and dictionaries, because some servers send it instead of
//! JSON.
//!
//! ```text
//! [{'id': 1, 'name': 'a', 'parent': None}]
//! ```

use serde_json::{Map, Number, Value};

use super::object::MAX_DEPTH;

/// Maximum nesting depth.
const MAX_NESTING: usize = 4 * MAX_DEPTH;

/// Parses a string that consists of one Python list or dictionary.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut reading = PythonParser { rest: text.trim() };
    if !reading.rest.starts_with(['[', '{']) {
        return None;
    }
    let value = reading.value(0)?;
    reading.rest.trim().is_empty().then_some(value)
}

struct PythonParser<'t> {
    rest: &'t str,
}

impl PythonParser<'_> {
    /// Skips whitespace and returns the next character.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn takes(&mut self, wanted: &str) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_NESTING {
            return None;
        }
        match self.peek()? {
            '[' => self.items("[", "]", depth),
            '(' => self.items("(", ")", depth),
            '{' => self.members(depth),
            '\'' | '"' => self.text().map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => [("None", Value::Null), ("True", true.into()), ("False", false.into())]
                .into_iter()
                .find_map(|(word, value)| self.takes(word).then_some(value)),
        }
    }

    fn items(&mut self, open: &str, close: &str, depth: usize) -> Option<Value> {
        self.takes(open).then_some(())?;
        let mut items = Vec::new();
        loop {
            self.peek()?;
            if self.takes(close) {
                return Some(items.into());
            }
            items.push(self.value(depth + 1)?);
            self.ends_or_goes_on(close)?;
        }
    }

    fn members(&mut self, depth: usize) -> Option<Value> {
        self.takes("{").then_some(())?;
        let mut members = Map::new();
        loop {
            self.peek()?;
            if self.takes("}") {
                return Some(members.into());
            }
            let name = match self.value(depth + 1)? {
                Value::String(name) => name,
                name @ (Value::Number(_) | Value::Bool(_) | Value::Null) => name.to_string(),
                _ => return None,
            };
            self.peek()?;
            self.takes(":").then_some(())?;
            let value = self.value(depth + 1)?;
            members.insert(name, value);
            self.ends_or_goes_on("}")?;
        }
    }

    /// Accepts a comma, even before the end, or checks for the end without consuming it.
    fn ends_or_goes_on(&mut self, close: &str) -> Option<()> {
        self.peek()?;
        (self.takes(",") || self.rest.starts_with(close)).then_some(())
    }

    fn number(&mut self) -> Option<Value> {
        let end = self
            .rest
            .find(|each: char| {
                !each.is_ascii_digit() && !matches!(each, '-' | '+' | '.' | 'e' | 'E')
            })
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let number: Number = number.parse().ok()?;
        Some(number.into())
    }

    /// Parses a quoted string. Byte strings are rejected.
    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut text = String::new();
        let mut chars = self.rest.get(1..)?.chars();
        loop {
            match chars.next()? {
                '\\' => match chars.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'x' => text.push(code(&mut chars, 2)?),
                    'u' => text.push(code(&mut chars, 4)?),
                    'U' => text.push(code(&mut chars, 8)?),
                    plain @ ('\\' | '\'' | '"') => text.push(plain),
                    other => text.extend(['\\', other]),
                },
                each if each == quote => {
                    self.rest = chars.as_str();
                    return Some(text);
                }
                each => text.push(each),
            }
        }
    }
}

/// Parses a character code of `digits` hexadecimal digits.
fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let number = chars.as_str().get(..digits)?;
    *chars = chars.as_str().get(digits..)?.chars();
    char::from_u32(u32::from_str_radix(number, 16).ok()?)
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
            ("{1: 'a\\n\\x41\\u00e9\\\\'}", json!({ "1": "a\nAé\\" })),
            (" [] ", json!([])),
            ("{'a': {'b': []},}", json!({ "a": { "b": [] } })),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in [
            "'text'",
            "[x]",
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
