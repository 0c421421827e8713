//! Lays out JSON for readers. Members keep their order, and short lists and objects are written on one line:
//!
//! ```json
//! {
//!   "operation": "list_tasks",
//!   "params": { "filter": { "status": "open" } }
//! }
//! ```

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The maximum width of a list or an object on a single line, in characters.
const MAX_INLINE_WIDTH: usize = 46;
/// Objects above this level are always written on several lines.
const SPREAD_LEVELS: usize = 2;

/// The kind of a token, for syntax coloring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Mark,
    Name,
    Text,
    Number,
    Word,
}

/// JSON as a list of tokens.
#[derive(Debug, Default)]
pub(super) struct Json {
    pub(super) pieces: Vec<(Token, String)>,
}

impl Json {
    /// Lays out JSON. Invalid JSON is returned as a single token.
    pub(super) fn pretty(text: &str) -> Self {
        let mut json = Self::default();
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => json.node(&Node::of(raw), 0, 0),
            Err(_) => json.put(Token::Word, text),
        }
        json
    }

    fn put(&mut self, token: Token, text: &str) {
        self.pieces.push((token, text.to_owned()));
    }

    fn node(&mut self, node: &Node<'_>, level: usize, column: usize) {
        let spread =
            !node.is_empty() && (level < SPREAD_LEVELS || column + node.width() > MAX_INLINE_WIDTH);
        match node {
            Node::Scalar(text) => self.put(token(text), text),
            Node::List(items) => self.members(["[", "]"], level, spread, items, |json, item| {
                json.node(item, level + 1, 2 * level + 2);
            }),
            Node::Object(members) => {
                self.members(["{", "}"], level, spread, members, |json, (name, item)| {
                    json.put(Token::Name, name);
                    json.put(Token::Mark, ": ");
                    json.node(item, level + 1, 2 * level + 4 + name.len());
                });
            }
        }
    }

    fn members<T>(
        &mut self,
        [open, close]: [&str; 2],
        level: usize,
        spread: bool,
        items: &[T],
        each: impl Fn(&mut Self, &T),
    ) {
        let gap = |level: usize| format!("\n{}", "  ".repeat(level));
        let inner = if spread { gap(level + 1) } else { " ".to_owned() };
        let outer = if spread { gap(level) } else { " ".to_owned() };
        // A list on one line has no inner spaces: `["a", "b"]`. An object has them: `{ "a": 1 }`.
        let close_by = items.is_empty() || (!spread && open == "[");
        self.put(Token::Mark, open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.put(Token::Mark, ",");
            }
            if index > 0 || !close_by {
                self.put(Token::Mark, &inner);
            }
            each(self, item);
        }
        if !close_by {
            self.put(Token::Mark, &outer);
        }
        self.put(Token::Mark, close);
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|(_, text)| formatter.write_str(text))
    }
}

fn token(text: &str) -> Token {
    match text.bytes().next() {
        Some(b'"') => Token::Text,
        Some(b'-' | b'0'..=b'9') => Token::Number,
        _ => Token::Word,
    }
}

/// A JSON value. Members keep their order, and scalars keep their spelling.
enum Node<'a> {
    Scalar(&'a str),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl<'a> Node<'a> {
    fn of(raw: &'a RawValue) -> Self {
        let text = raw.get().trim();
        let scalar = Node::Scalar(text);
        match text.bytes().next() {
            Some(b'[') => serde_json::from_str::<Vec<&'a RawValue>>(text)
                .map_or(scalar, |items| Node::List(items.into_iter().map(Node::of).collect())),
            Some(b'{') => serde_json::from_str::<Pairs<'a>>(text).map_or(scalar, |pairs| {
                let named = |(name, item): (String, _)| {
                    (serde_json::Value::from(name).to_string(), Node::of(item))
                };
                Node::Object(pairs.0.into_iter().map(named).collect())
            }),
            _ => scalar,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Node::Scalar(_) => true,
            Node::List(items) => items.is_empty(),
            Node::Object(members) => members.is_empty(),
        }
    }

    /// Returns the width of the value on one line, in characters.
    fn width(&self) -> usize {
        match self {
            Node::Scalar(text) => text.chars().count(),
            Node::List(items) => 2 + items.iter().map(|item| item.width() + 2).sum::<usize>(),
            Node::Object(members) => {
                let width = |(name, item): &(String, Self)| name.chars().count() + item.width() + 4;
                4 + members.iter().map(width).sum::<usize>()
            }
        }
    }
}

struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_short_ones_share_a_line() {
        let text = r#"{"z":{"name":"b","list":[1,2.50,[]],"a":{}},"a":"\u00e4\"","long":{"one":"aaaaaaaaaaaaaaaaaaaaaaaaaaa","two":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}"#;
        assert_eq!(
            Json::pretty(text).to_string(),
            r#"{
  "z": {
    "name": "b",
    "list": [1, 2.50, []],
    "a": {}
  },
  "a": "\u00e4\"",
  "long": {
    "one": "aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "two": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  }
}"#
        );
        assert_eq!(Json::pretty(r#"{"a":{"b":{"c":[null]}}}"#).to_string().lines().count(), 5);
        assert_eq!(Json::pretty("[]").to_string(), "[]");
        assert_eq!(Json::pretty("no JSON").to_string(), "no JSON");
    }
}
