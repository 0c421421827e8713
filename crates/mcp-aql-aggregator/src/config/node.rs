//! A JSON tree that keeps the order of members and duplicate names.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON value of the file. `serde_json` would sort the servers and drop one of two with the same
/// name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// `null`, a boolean or a number.
    Plain(Value),
    Text(String),
    List(Vec<Node>),
    Members(Vec<(String, Node)>),
}

impl Node {
    /// Parses JSON with comments and trailing commas, because editors accept both.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&without_comments(text))
    }

    /// Returns the type with an article, for error messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Plain(Value::Null) => "null",
            Self::Plain(Value::Bool(_)) => "true or false",
            Self::Plain(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Members(_) => "an object",
        }
    }

    /// Returns a member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Members(members) => {
                members.iter().find(|(each, _)| each == name).map(|(_, member)| member)
            }
            _ => None,
        }
    }

    /// Converts to a `serde_json` value. The order of members is lost.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(text) => Value::from(text.as_str()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Members(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| (name.clone(), member.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Plain(Value::Null))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            members.push(entry);
        }
        Ok(Node::Members(members))
    }
}

/// Replaces comments and trailing commas with spaces, so that lines and columns in errors stay
/// correct.
fn without_comments(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut clean = String::with_capacity(text.len());
    // Position in `clean` of a comma with only whitespace after it so far.
    let mut comma = None;
    let mut rest = text.chars().peekable();
    while let Some(each) = rest.next() {
        match (each, rest.peek()) {
            ('"', _) => {
                comma = None;
                clean.push(each);
                while let Some(inner) = rest.next() {
                    clean.push(inner);
                    match inner {
                        '\\' => clean.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => {
                clean.push(' ');
                while rest.next_if(|each| *each != '\n').is_some() {
                    clean.push(' ');
                }
            }
            ('/', Some('*')) => {
                clean.push_str("  ");
                rest.next();
                let mut last = ' ';
                for inner in rest.by_ref() {
                    clean.push(if inner == '\n' { '\n' } else { ' ' });
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            (',', _) => {
                comma = Some(clean.len());
                clean.push(each);
            }
            (']' | '}', _) => {
                if let Some(at) = comma.take() {
                    clean.replace_range(at..=at, " ");
                }
                clean.push(each);
            }
            _ => {
                if !each.is_whitespace() {
                    comma = None;
                }
                clean.push(each);
            }
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_keep_their_order_and_repeat() {
        let node = Node::parse(r#"{"z": 1, "a": [true, null, -2, 0.5, "x"], "z": {}}"#).unwrap();
        let Node::Members(members) = &node else { panic!("{node:?}") };
        let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a", "z"]);
        assert_eq!(node.get("a").unwrap().to_value(), json!([true, null, -2, 0.5, "x"]));
    }

    #[test]
    fn comments_and_trailing_commas_are_ignored() {
        for (shows, text, expected) in [
            ("a comment to the end of the line", "{ // \"a\": 1,\n \"b\": 2 }", json!({"b": 2})),
            ("a comment over lines", "/* {\n * [ **/ [1 /*,*/, 2]", json!([1, 2])),
            ("commas before brackets", "{\"a\": [1, 2, // x\n ], }", json!({"a": [1, 2]})),
            (
                "none of it in strings",
                r#"["// \" /* ,] */", ",]"]"#,
                json!(["// \" /* ,] */", ",]"]),
            ),
            ("the byte order mark of Windows editors", "\u{feff}[]", json!([])),
        ] {
            assert_eq!(Node::parse(text).unwrap().to_value(), expected, "{shows}");
        }
        for text in ["[1 /", "{\"a\": 1 /*", "[,]", "\"\\"] {
            // `[,]` parses as an empty list. This does no harm.
            assert_eq!(Node::parse(text).is_ok(), text == "[,]", "{text}");
        }
    }

    #[test]
    fn faults_have_their_position() {
        let error = Node::parse("{ // comment\n  /* two\n lines */ \"a\": }").unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 16));
    }
}
