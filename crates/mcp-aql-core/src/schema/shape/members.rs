//! JSON objects with ordered members.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON object that keeps the order of its members. Introspection uses it for its entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Members(Vec<(&'static str, Node)>);

/// The value of a member.
#[derive(Debug, Clone)]
pub enum Node {
    /// A JSON value.
    Value(Value),
    /// An object.
    Object(Members),
    /// A list of objects.
    List(Vec<Members>),
    /// JSON as its author wrote it, with the original order of members.
    Text(Box<RawValue>),
}

impl Members {
    /// Creates an object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a member. An existing member keeps its position.
    pub fn put(&mut self, key: &'static str, value: impl Into<Node>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.0.push((key, value)),
        }
    }

    /// Sets a member to a list of objects.
    pub fn put_list(&mut self, key: &'static str, list: Vec<Self>) {
        self.put(key, Node::List(list));
    }

    /// Sets a member to JSON that keeps its order. Invalid JSON is ignored.
    pub(crate) fn put_text(&mut self, key: &'static str, json: &str) {
        if let Ok(text) = RawValue::from_string(json.to_owned()) {
            self.put(key, Node::Text(text));
        }
    }

    /// Sets a member if there is a value.
    pub fn put_some(&mut self, key: &'static str, value: Option<impl Into<Node>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Returns the value of a member if it is a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|(known, node)| match node {
            Node::Value(Value::String(text)) if *known == key => Some(text.as_str()),
            _ => None,
        })
    }

    /// Serializes the object as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "null".to_owned())
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(left), Self::Value(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left.get() == right.get(),
            _ => false,
        }
    }
}

impl<T: Into<Value>> From<T> for Node {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl From<Members> for Node {
    fn from(members: Members) -> Self {
        Self::Object(members)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, node) in &self.0 {
            map.serialize_entry(key, node)?;
        }
        map.end()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Object(members) => members.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order() {
        let mut inner = Members::new();
        inner.put("z", 1);
        inner.put("a", "x");
        inner.put("z", 2);
        let mut outer = Members::new();
        outer.put("name", "n");
        outer.put("items", inner.clone());
        outer.put_list("list", vec![inner]);
        outer.put_some("none", None::<Value>);
        assert_eq!(
            outer.to_json(),
            r#"{"name":"n","items":{"z":2,"a":"x"},"list":[{"z":2,"a":"x"}]}"#
        );
    }
}
