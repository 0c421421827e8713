//! Generates invalid values for every documented constraint of a shape.

use std::cell::Cell;

use serde_json::{Value, json};

use super::format::not_in_format;
use super::generation::{MAX_TEXT_CHARS, whole};
use super::pattern;
use super::{Kind, MAX_STEPS, Shape};

/// The constraint violated by an invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The value has another JSON type.
    Type,
    /// The value is not in `enum`.
    Word,
    /// The value is below `minimum`.
    Below,
    /// The value is above `maximum`.
    Above,
    /// The string is shorter than `minLength`.
    Short,
    /// The string is longer than `maxLength`.
    Long,
    /// The string does not match `pattern`.
    Pattern,
    /// The string does not have the `format`.
    Format,
    /// An item of the list is invalid.
    Item,
    /// A field is missing or invalid.
    Member,
}

/// An invalid value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InvalidValue {
    pub(crate) fault: Fault,
    pub(crate) value: Value,
    /// Path of the invalid part in the value, such as `.author`, or an empty string for the value itself.
    pub(crate) path: String,
}

/// Returns the name of the JSON type of a value.
pub(super) const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns `true` if an invalid identifier matches no item, even if the adapter converts it.
///
/// For example, an adapter may convert 7 to "7" and `true` to 1. An empty string may match all items.
pub(crate) fn hits_nothing(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("conformance") || text.chars().count() > 40,
        Value::Array(items) => !items.is_empty() && items.iter().all(hits_nothing),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns a closure that adds values violating a constraint at the top, not in a nested part.
fn at_top(add: &mut impl FnMut(String, Fault, Value)) -> impl FnMut(Fault, Value) {
    |fault, value| add(String::new(), fault, value)
}

impl<'a> Shape<'a> {
    /// Returns invalid values for every documented constraint.
    pub(crate) fn wrong(self) -> Vec<InvalidValue> {
        self.all_wrong(0)
    }

    fn all_wrong(self, depth: usize) -> Vec<InvalidValue> {
        let mut wrong = Vec::new();
        if depth > 2 {
            return wrong;
        }
        let mut add_at = |path: String, fault, value| {
            if !self.accepts(&value) {
                wrong.push(InvalidValue { fault, value, path });
            }
        };
        let kinds = self.kinds();
        self.wrong_types(&kinds, &mut at_top(&mut add_at));
        if let Some(words) = self.words() {
            if words.iter().any(Value::is_string) {
                add_at(String::new(), Fault::Word, json!("conformance_probe"));
            }
            if words.iter().all(Value::is_number) {
                let most = words.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
                add_at(String::new(), Fault::Word, whole(most + 1.0).unwrap_or_default());
            }
            return wrong;
        }
        for kind in &kinds {
            match kind {
                Kind::Whole | Kind::Number => self.wrong_numbers(&mut at_top(&mut add_at)),
                Kind::Text => self.wrong_text(&mut at_top(&mut add_at)),
                Kind::List => {
                    for item in self.wrong_items(depth) {
                        let path = format!("[0]{}", item.path);
                        add_at(path, Fault::Item, json!([item.value]));
                    }
                }
                Kind::Object => {
                    for value in self.wrong_items(depth) {
                        let path = format!(".conformance{}", value.path);
                        add_at(path, Fault::Item, json!({ "conformance": value.value }));
                    }
                }
                Kind::Fields(fields) => self.wrong_fields(kind, fields, depth, &mut add_at),
                _ => {}
            }
        }
        wrong
    }

    /// Adds values of other JSON types. One of them is a valid number or boolean as a string, for example `"7"`.
    fn wrong_types(self, kinds: &[Kind<'_>], add: &mut impl FnMut(Fault, Value)) {
        let written = kinds
            .iter()
            .filter(|kind| matches!(kind, Kind::Whole | Kind::Number | Kind::Flag))
            .find_map(|kind| self.make_kind(kind, 1, 0, &Cell::new(MAX_STEPS)));
        let others = [
            json!("conformance"),
            json!(7),
            json!(1.5),
            json!(true),
            json!(["conformance"]),
            json!({ "conformance": 1 }),
        ];
        for value in others.into_iter().chain(written.map(|value| json!(value.to_string()))) {
            if !self.takes_type_of(&value) {
                add(Fault::Type, value);
            }
        }
    }

    fn wrong_numbers(self, add: &mut impl FnMut(Fault, Value)) {
        if let Some(below) = self.number("minimum").and_then(|edge| whole(edge.ceil() - 1.0)) {
            add(Fault::Below, below);
        }
        if let Some(above) = self.number("maximum").and_then(|edge| whole(edge.floor() + 1.0)) {
            add(Fault::Above, above);
        }
    }

    /// Returns invalid items for a list, and invalid values for a map.
    fn wrong_items(self, depth: usize) -> Vec<InvalidValue> {
        self.items().map(|items| items.all_wrong(depth + 1)).unwrap_or_default()
    }

    /// Adds objects that lack a required field or have one invalid field.
    fn wrong_fields(
        self,
        kind: &Kind<'_>,
        fields: &[Shape<'_>],
        depth: usize,
        add: &mut impl FnMut(String, Fault, Value),
    ) {
        let made = self.make_kind(kind, 0, 0, &Cell::new(MAX_STEPS));
        let Some(Value::Object(whole)) = made else { return };
        for field in fields {
            let Some(name) = field.name() else { continue };
            if field.is_required() {
                let mut lacking = whole.clone();
                lacking.remove(name);
                add(format!(".{name}"), Fault::Member, lacking.into());
            }
            if let Some(item) = field.all_wrong(depth + 1).into_iter().next() {
                let mut changed = whole.clone();
                let path = format!(".{name}{}", item.path);
                changed.insert(name.to_owned(), item.value);
                add(path, Fault::Member, changed.into());
            }
        }
    }

    fn wrong_text(self, add: &mut impl FnMut(Fault, Value)) {
        if let Some(least) =
            self.count("minLength").filter(|least| (1..=MAX_TEXT_CHARS).contains(least))
        {
            add(Fault::Short, json!("x".repeat(least - 1)));
        }
        if let Some(most) = self.count("maxLength").filter(|most| *most <= MAX_TEXT_CHARS) {
            add(Fault::Long, json!("x".repeat(most + 1)));
        }
        let length = |text: &&&str| {
            let length = text.chars().count();
            self.count("minLength").is_none_or(|least| length >= least)
                && self.count("maxLength").is_none_or(|most| length <= most)
        };
        if let Some(pattern) = self.text("pattern").and_then(pattern::compiled) {
            let foreign = ["!", "no such form", "Ω", "~~~~~~~~", "0", "x", ""];
            if let Some(text) = foreign.iter().filter(length).find(|text| !pattern.is_match(text)) {
                add(Fault::Pattern, json!(text));
            }
        }
        if let Some(format) = self.text("format") {
            for text in not_in_format(format).iter().filter(length) {
                add(Fault::Format, json!(text));
            }
        }
    }
}

impl Kind<'_> {
    /// Returns `true` if a value has the JSON type. Other constraints are ignored.
    pub(super) fn takes_type_of(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Whole => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Self::Number => value.is_number(),
            Self::Flag => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object | Self::Fields(_) => value.is_object(),
            Self::Null => value.is_null(),
            Self::Words(words) => words.iter().any(|word| type_of(word) == type_of(value)),
            Self::Members(members) => members.iter().any(|member| member.takes_type_of(value)),
            Self::Unknown => true,
        }
    }
}
