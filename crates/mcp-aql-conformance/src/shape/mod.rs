//! The documented shape of a value. A shape accepts values, and generates valid, extreme and invalid ones.

mod acceptance;
mod format;
mod generation;
mod invalid;
mod pattern;

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::adapter::{Adapter, Parameter, Type};

use self::invalid::type_of;
pub(crate) use self::invalid::{Fault, InvalidValue, hits_nothing};

/// Maximum depth of nested types.
const MAX_DEPTH: usize = 6;

/// Maximum number of members of a union.
const MAX_UNION_MEMBERS: usize = 200;

/// Maximum number of steps for checking or generating one value. It bounds recursive types.
const MAX_STEPS: usize = 10_000;

/// The shape of a parameter, of a field of a type, or of the items of a list.
///
/// ```json
/// { "name": "priority", "type": "integer", "required": true, "minimum": 1, "maximum": 5 }
/// ```
///
/// This shape generates the valid value 1, the bounds 1 and 5, and invalid values such as 0, 6 and `"conformance"`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    raw: &'a Map<String, Value>,
    types: &'a [Type],
}

/// One alternative of a shape.
enum Kind<'a> {
    Text,
    Whole,
    Number,
    Flag,
    List,
    Object,
    Null,
    /// A type with enumerated values.
    Words(&'a [Value]),
    /// A type with fields.
    Fields(Vec<Shape<'a>>),
    /// A union of other types.
    Members(Vec<Kind<'a>>),
    /// Any type, or an unknown one.
    Unknown,
}

impl<'a> Shape<'a> {
    /// Returns the shape of a parameter.
    pub(crate) fn of(adapter: &'a Adapter, parameter: &'a Parameter) -> Self {
        Self::new(&parameter.raw, &adapter.types)
    }

    pub(crate) const fn new(raw: &'a Map<String, Value>, types: &'a [Type]) -> Self {
        Self { raw, types }
    }

    /// Returns the name, if this is the shape of a field.
    pub(crate) fn name(self) -> Option<&'a str> {
        self.text("name")
    }

    /// Returns the description in introspection.
    pub(crate) fn description(self) -> &'a str {
        self.text("description").unwrap_or_default()
    }

    /// Returns the name of the type.
    pub(crate) fn word(self) -> &'a str {
        self.text("type").unwrap_or_default()
    }

    fn text(self, name: &str) -> Option<&'a str> {
        self.raw.get(name)?.as_str()
    }

    fn number(self, name: &str) -> Option<f64> {
        self.raw.get(name)?.as_f64()
    }

    fn count(self, name: &str) -> Option<usize> {
        self.raw.get(name)?.as_u64().and_then(|count| usize::try_from(count).ok())
    }

    /// Returns the values of `enum`.
    pub(crate) fn words(self) -> Option<&'a [Value]> {
        if let Some(words) = self.raw.get("enum").and_then(Value::as_array) {
            return Some(words);
        }
        match self.kinds().as_slice() {
            [Kind::Words(words)] => Some(words),
            _ => None,
        }
    }

    /// Returns `true` if the shape restricts strings only by their length.
    pub(crate) fn is_free_text(self) -> bool {
        ["enum", "pattern", "format"].iter().all(|member| !self.raw.contains_key(*member))
            && self.words().is_none()
    }

    /// Returns `true` if all values are strings, numbers or booleans.
    pub(crate) fn is_plain(self) -> bool {
        let is_plain = |kind: &Kind<'_>| {
            matches!(kind, Kind::Text | Kind::Whole | Kind::Number | Kind::Flag | Kind::Words(_))
        };
        self.kinds().iter().all(is_plain)
    }

    /// Returns the shape of the items of a list or the values of a map.
    pub(crate) fn items(self) -> Option<Self> {
        Some(Self::new(self.raw.get("items")?.as_object()?, self.types))
    }

    /// Returns the fields of an object type.
    pub(crate) fn fields(self) -> Vec<Self> {
        match self.kinds().into_iter().next() {
            Some(Kind::Fields(fields)) => fields,
            _ => Vec::new(),
        }
    }

    /// Returns `true` if this is the shape of a required field.
    pub(crate) fn is_required(self) -> bool {
        self.raw.get("required") == Some(&Value::Bool(true))
    }

    /// Returns the alternatives of a type such as `string`, `TaskFilter` or `object or array`.
    fn kinds(self) -> Vec<Kind<'a>> {
        self.word()
            .split(" or ")
            .flat_map(|word| word.split('|'))
            .map(|word| self.kind(word.trim()))
            .collect()
    }

    fn kind(self, word: &'a str) -> Kind<'a> {
        match word {
            "string" => Kind::Text,
            "integer" => Kind::Whole,
            "number" => Kind::Number,
            "boolean" => Kind::Flag,
            "array" => Kind::List,
            "object" => Kind::Object,
            "null" => Kind::Null,
            _ => self.named(word).unwrap_or(Kind::Unknown),
        }
    }

    /// Returns the members of a union. Nested unions are flattened. Each is visited once, because unions may be
    /// recursive.
    fn members(self, union: &'a str) -> Vec<Kind<'a>> {
        let mut names = vec![union];
        let mut kinds = Vec::new();
        let mut at = 0;
        while let Some(name) = names.get(at).copied() {
            at += 1;
            let found = self.types.iter().find(|known| known.name == name);
            let details = found.map(Type::details);
            let is_union = details
                .is_some_and(|details| details.get("kind").is_some_and(|kind| kind == "union"));
            if !is_union {
                kinds.push(self.kind(name));
                continue;
            }
            let members = details.and_then(|details| details.get("members")?.as_array());
            for member in members.into_iter().flatten().filter_map(Value::as_str) {
                if names.len() < MAX_UNION_MEMBERS && !names.contains(&member) {
                    names.push(member);
                }
            }
        }
        kinds
    }

    fn named(self, name: &'a str) -> Option<Kind<'a>> {
        let found = self.types.iter().find(|known| known.name == name)?;
        let details = found.details();
        let list = |name: &str| details.get(name).and_then(Value::as_array);
        match details.get("kind")?.as_str()? {
            "enum" => Some(Kind::Words(list("values")?)),
            "object" => Some(Kind::Fields(
                list("fields")?
                    .iter()
                    .filter_map(|field| Some(Self::new(field.as_object()?, self.types)))
                    .collect(),
            )),
            "union" => Some(Kind::Members(self.members(name))),
            _ => None,
        }
    }

    /// Returns `true` if the type accepts values of this JSON type. Constraints are ignored.
    pub(crate) fn takes_type_of(self, value: &Value) -> bool {
        let words = self.words().into_iter().flatten();
        self.kinds().iter().any(|kind| kind.takes_type_of(value))
            // The type of an enumeration follows from its values.
            || words.into_iter().any(|word| type_of(word) == type_of(value))
    }

    /// Returns `true` if the value certainly contains no named members.
    pub(crate) fn is_flat(self) -> bool {
        self.kinds().iter().all(Kind::is_flat)
    }
}

impl Kind<'_> {
    fn is_flat(&self) -> bool {
        match self {
            Self::Object | Self::Fields(_) | Self::Unknown => false,
            Self::Members(members) => members.iter().all(Self::is_flat),
            _ => true,
        }
    }
}

/// Consumes a step. Returns `false` if none is left.
fn step(steps: &Cell<usize>) -> bool {
    let left = steps.get();
    steps.set(left.saturating_sub(1));
    left > 0
}

#[cfg(test)]
mod tests;
