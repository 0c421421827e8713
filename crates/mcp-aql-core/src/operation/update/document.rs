//! Changes members of a JSON document without rewriting its other parts.

use std::collections::BTreeMap;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::schema::spec::Merge;

/// A change of a JSON document.
///
/// It is applied to the string of the document. Everything that it does not name keeps its spelling, also numbers that
/// no `f64` can represent.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentEdit {
    /// Removes the value.
    Remove,
    /// Replaces the value.
    Set(Value),
    /// Changes these members. Any other value than an object is replaced by an object.
    Members(BTreeMap<String, DocumentEdit>),
}

impl DocumentEdit {
    /// Returns the change that an `input` makes to a value with this merge rule.
    pub fn of_input(merge: Merge, input: &Value) -> Self {
        let members = match input {
            Value::Null => return Self::Remove,
            Value::Object(members) => members.iter(),
            other => return Self::Set(other.clone()),
        };
        let edit_of = |name: &str, value: &Value| match merge {
            Merge::Replace => Self::Set(value.clone()),
            Merge::Json => Self::of_input(Merge::Json, value),
            Merge::Keys(each) => Self::of_input(each.merge, value),
            Merge::Fields(table) => {
                let field = table().field(name);
                Self::of_input(field.map_or(Merge::Replace, |field| field.merge), value)
            }
        };
        match merge {
            Merge::Replace => Self::Set(input.clone()),
            _ => Self::Members(
                members.map(|(name, value)| (name.clone(), edit_of(name, value))).collect(),
            ),
        }
    }

    /// Returns the change that leads from one value to another.
    pub fn between(old: &Value, new: &Value) -> Self {
        let (Value::Object(old), Value::Object(new)) = (old, new) else {
            return Self::Set(new.clone());
        };
        let removed = old.keys().filter(|name| !new.contains_key(*name));
        let removed = removed.map(|name| (name.clone(), Self::Remove));
        let changed = new.iter().filter_map(|(name, value)| match old.get(name) {
            Some(old) if old == value => None,
            Some(old) => Some((name.clone(), Self::between(old, value))),
            None => Some((name.clone(), Self::Set(value.clone()))),
        });
        Self::Members(removed.chain(changed).collect())
    }

    /// Replaces the values that the change sets by those of the changed document, which may be more complete.
    #[must_use]
    pub fn completed(self, changed: &Value) -> Self {
        match self {
            Self::Remove => Self::Remove,
            Self::Set(_) => Self::Set(changed.clone()),
            Self::Members(members) => Self::Members(
                members
                    .into_iter()
                    .map(|(name, edit)| match changed.get(&name) {
                        Some(changed) => (name, edit.completed(changed)),
                        None => (name, edit),
                    })
                    .collect(),
            ),
        }
    }

    /// Returns the changed document, or `None` if the change removes it. A document that is no object is replaced.
    pub fn apply(&self, document: &str) -> Option<String> {
        let members = match self {
            Self::Remove => return None,
            Self::Set(value) => return Some(value.to_string()),
            Self::Members(members) => members,
        };
        let entries = DocumentMember::all_of(document).unwrap_or_default();
        let mut changed: Vec<(String, String)> = Vec::new();
        let mut open: BTreeMap<_, _> = members.iter().collect();
        for (place, entry) in entries.iter().enumerate() {
            let Some(edit) = entry.name.as_ref().and_then(|name| members.get(name)) else {
                changed.push((entry.key.get().to_owned(), entry.value.get().to_owned()));
                continue;
            };
            // If a name is repeated, most readers use its last value.
            if entries.iter().skip(place + 1).any(|later| later.name == entry.name) {
                continue;
            }
            let value = edit.apply(entry.value.get());
            changed.extend(value.map(|value| (entry.key.get().to_owned(), value)));
            open.retain(|name, _| entry.name.as_ref() != Some(*name));
        }
        for (name, edit) in open {
            let value = edit.apply("null");
            changed.extend(value.map(|value| (Value::from(name.as_str()).to_string(), value)));
        }
        let changed: Vec<_> =
            changed.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
        Some(format!("{{{}}}", changed.join(",")))
    }
}

/// A member of a JSON document.
#[derive(Debug, Clone)]
pub struct DocumentMember<'a> {
    key: &'a RawValue,
    /// The name, or `None` if no string can represent it.
    pub name: Option<String>,
    /// The value as written.
    pub value: &'a RawValue,
}

impl<'a> DocumentMember<'a> {
    /// Returns the members of an object in their order, also repeated ones. Returns `None` for any other value.
    pub fn all_of(document: &'a str) -> Option<Vec<Self>> {
        let mut reader = serde_json::Deserializer::from_str(document);
        let members = reader.deserialize_map(MemberVisitor).ok()?;
        reader.end().ok()?;
        Some(members)
    }
}

struct MemberVisitor;

impl<'de> Visitor<'de> for MemberVisitor {
    type Value = Vec<DocumentMember<'de>>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, _>()? {
            let name = serde_json::from_str(key.get()).ok();
            members.push(DocumentMember { key, name, value });
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_keeps_what_it_does_not_name() {
        // REQ-UPD-08, REQ-UPD-11
        for (document, patch, expected) in [
            (r#"{"a":1e400,"b":1}"#, json!({ "b": 2 }), r#"{"a":1e400,"b":2}"#),
            (
                r#"{"a": {"b" : 1.50 , "c":2}}"#,
                json!({ "a": { "c": null } }),
                r#"{"a":{"b":1.50}}"#,
            ),
            // Another spelling of a name, and a name that no string can represent.
            (r#"{"\u0061":1,"\ud800":2}"#, json!({ "a": 3 }), r#"{"\u0061":3,"\ud800":2}"#),
            // A repeated name.
            (r#"{"a":1,"b":2,"a":3}"#, json!({ "a": 4 }), r#"{"b":2,"a":4}"#),
            (r#"{"a":1,"b":2,"a":3}"#, json!({ "a": null }), r#"{"b":2}"#),
            // A value that is no object.
            ("[1]", json!({ "a": { "b": null, "c": "\"" } }), r#"{"a":{"c":"\""}}"#),
            ("{", json!({ "a": 1 }), r#"{"a":1}"#),
            (r#"{"a":[1.0]}"#, json!({ "a": {} }), r#"{"a":{}}"#),
        ] {
            let edit = DocumentEdit::of_input(Merge::Json, &patch);
            assert_eq!(edit.apply(document).as_deref(), Some(expected), "{document} {patch}");
        }
        assert_eq!(DocumentEdit::of_input(Merge::Json, &Value::Null).apply("{}"), None);
    }

    #[test]
    fn the_rule_of_a_field_decides_what_is_replaced() {
        let document = r#"{"a":1.0}"#;
        let patch = json!({ "b": { "c": null } });
        for (merge, expected) in
            [(Merge::Replace, r#"{"b":{"c":null}}"#), (Merge::Json, r#"{"a":1.0,"b":{}}"#)]
        {
            let edit = DocumentEdit::of_input(merge, &patch);
            assert_eq!(edit.apply(document).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_edit_between_values_leads_to_the_second() {
        for (old, new, expected) in [
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1, "c": 3 }), r#"{"a":1.00,"x":0,"c":3}"#),
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1, "b": [2] }), r#"{"a":1.00,"b":[2],"x":0}"#),
            (json!({ "a": 1, "b": 2 }), json!([1]), "[1]"),
        ] {
            let edit = DocumentEdit::between(&old, &new);
            assert_eq!(edit.apply(r#"{"a":1.00,"b":2,"x":0}"#).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_edit_sets_the_values_of_the_changed_document() {
        let edit = DocumentEdit::of_input(Merge::Json, &json!({ "a": { "b": 1, "c": null } }));
        let edit = edit.completed(&json!({ "a": { "b": 1.5, "c": 2 }, "d": 3 }));
        assert_eq!(edit.apply(r#"{"a":{"c":0}}"#).as_deref(), Some(r#"{"a":{"b":1.5}}"#));
    }
}
