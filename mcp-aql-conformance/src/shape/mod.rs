//! The documented shape of a value: it accepts values, and generates valid ones, bounds and invalid ones.

mod pattern;

use std::cell::Cell;
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::adapter::{Adapter, Parameter, Type};

/// The maximum depth of nested types.
const MAX_DEPTH: usize = 6;
/// The maximum number of members of a union.
const MAX_UNION_MEMBERS: usize = 200;
/// The maximum number of steps to check or to generate one value.
const MAX_STEPS: usize = 10_000;
/// The maximum length of generated texts.
const MAX_TEXT_CHARS: usize = 65_536;

/// The shape of a parameter, of a field of a type, or of the items of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    raw: &'a Map<String, Value>,
    types: &'a [Type],
}

/// An alternative of a shape.
enum Kind<'a> {
    Text,
    Whole,
    Number,
    Flag,
    List,
    Object,
    Null,
    /// A type that is an enumeration.
    Words(&'a [Value]),
    /// A type with fields.
    Fields(Vec<Shape<'a>>),
    /// A union of other types.
    Members(Vec<Kind<'a>>),
    /// Any or an unknown type.
    Unknown,
}

/// The fault of an invalid value.
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
    /// The text is shorter than `minLength`.
    Short,
    /// The text is longer than `maxLength`.
    Long,
    /// The text does not match `pattern`.
    Pattern,
    /// The text does not have the `format`.
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
}

/// The name of the JSON type of a value.
const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl<'a> Shape<'a> {
    /// The shape of a parameter.
    pub(crate) fn of(adapter: &'a Adapter, parameter: &'a Parameter) -> Self {
        Self::new(&parameter.raw, &adapter.types)
    }

    pub(crate) const fn new(raw: &'a Map<String, Value>, types: &'a [Type]) -> Self {
        Self { raw, types }
    }

    /// The name, if this is the shape of a field.
    pub(crate) fn name(self) -> Option<&'a str> {
        self.text("name")
    }

    /// The description in introspection.
    pub(crate) fn description(self) -> &'a str {
        self.text("description").unwrap_or_default()
    }

    /// The name of the type.
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

    /// The values of `enum`.
    pub(crate) fn words(self) -> Option<&'a [Value]> {
        if let Some(words) = self.raw.get("enum").and_then(Value::as_array) {
            return Some(words);
        }
        match self.kinds().as_slice() {
            [Kind::Words(words)] => Some(words),
            _ => None,
        }
    }

    /// The shape of the items of a list or the values of a map.
    pub(crate) fn items(self) -> Option<Self> {
        Some(Self::new(self.raw.get("items")?.as_object()?, self.types))
    }

    /// The fields of an object type.
    pub(crate) fn fields(self) -> Vec<Self> {
        match self.kinds().into_iter().next() {
            Some(Kind::Fields(fields)) => fields,
            _ => Vec::new(),
        }
    }

    /// Whether the field is required, if this is the shape of a field.
    pub(crate) fn is_required(self) -> bool {
        self.raw.get("required") == Some(&Value::Bool(true))
    }

    /// The alternatives of a type: `string`, `TaskFilter`, `object or array`.
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

    /// The members of a union. Nested unions are flattened, each once because they may be recursive.
    fn members(self, union: &'a str) -> Vec<Kind<'a>> {
        let mut names = vec![union];
        let mut kinds = Vec::new();
        let mut at = 0;
        while let Some(name) = names.get(at).copied() {
            at += 1;
            let found = self.types.iter().find(|known| known.name == name);
            let details = found.and_then(|found| found.reply.pointer("/data/type"));
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
        let details = found.reply.pointer("/data/type")?;
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

    /// Whether a value has the type and satisfies the constraints.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        self.admits(value, 0, &Cell::new(MAX_STEPS))
    }

    /// Values beyond the depth and step limits are accepted.
    fn admits(self, value: &Value, depth: usize, steps: &Cell<usize>) -> bool {
        if depth > MAX_DEPTH || !step(steps) {
            return true;
        }
        if let Some(words) = self.raw.get("enum").and_then(Value::as_array) {
            return words.contains(value);
        }
        self.kinds().iter().any(|kind| self.is(kind, value, depth, steps))
    }

    fn is(self, kind: &Kind<'_>, value: &Value, depth: usize, steps: &Cell<usize>) -> bool {
        match kind {
            Kind::Text => value.as_str().is_some_and(|text| self.takes_text(text)),
            Kind::Whole => {
                let is_whole = value.is_i64()
                    || value.is_u64()
                    || value.as_f64().is_some_and(|number| number.fract() == 0.0);
                is_whole && self.takes_number(value)
            }
            Kind::Number => value.is_number() && self.takes_number(value),
            Kind::Flag => value.is_boolean(),
            Kind::List => value.as_array().is_some_and(|items| {
                let shape = self.items();
                self.count("minItems").is_none_or(|least| items.len() >= least)
                    && self.count("maxItems").is_none_or(|most| items.len() <= most)
                    && items
                        .iter()
                        .all(|item| shape.is_none_or(|shape| shape.admits(item, depth + 1, steps)))
            }),
            Kind::Object => value.as_object().is_some_and(|members| {
                let shape = self.items();
                members
                    .values()
                    .all(|member| shape.is_none_or(|shape| shape.admits(member, depth + 1, steps)))
            }),
            Kind::Null => value.is_null(),
            Kind::Words(words) => words.contains(value),
            Kind::Fields(fields) => value.as_object().is_some_and(|members| {
                fields.iter().all(|field| match field.name().and_then(|name| members.get(name)) {
                    Some(value) => field.admits(value, depth + 1, steps),
                    None => !field.is_required(),
                })
            }),
            Kind::Members(members) => {
                members.iter().any(|member| self.is(member, value, depth + 1, steps))
            }
            Kind::Unknown => true,
        }
    }

    fn takes_text(self, text: &str) -> bool {
        let length = text.chars().count();
        self.count("minLength").is_none_or(|least| length >= least)
            && self.count("maxLength").is_none_or(|most| length <= most)
            // A pattern that cannot be compiled accepts all texts.
            && self
                .text("pattern")
                .and_then(pattern::compiled)
                .is_none_or(|pattern| pattern.is_match(text))
            && self.text("format").is_none_or(|format| is_in_format(format, text))
    }

    fn takes_number(self, value: &Value) -> bool {
        let number = value.as_f64().unwrap_or_default();
        self.number("minimum").is_none_or(|least| number >= least)
            && self.number("maximum").is_none_or(|most| number <= most)
    }

    /// Generates a valid value; another `turn` gives another one if possible.
    pub(crate) fn made(self, turn: usize) -> Option<Value> {
        self.make(turn, 0, &Cell::new(MAX_STEPS)).filter(|value| self.accepts(value))
    }

    fn make(self, turn: usize, depth: usize, steps: &Cell<usize>) -> Option<Value> {
        if depth > MAX_DEPTH || !step(steps) {
            return None;
        }
        if let Some(words) = self.raw.get("enum").and_then(Value::as_array) {
            return pick(words, turn);
        }
        self.kinds().iter().find_map(|kind| self.make_kind(kind, turn, depth, steps))
    }

    fn make_kind(
        self,
        kind: &Kind<'_>,
        turn: usize,
        depth: usize,
        steps: &Cell<usize>,
    ) -> Option<Value> {
        match kind {
            Kind::Text => self.make_text(turn).map(Value::String),
            Kind::Whole => {
                let (least, most) = self.range();
                let span = (most - least).clamp(0.0, 8.0) + 1.0;
                whole(least + (turn as f64 % span).floor())
            }
            Kind::Number => {
                let (least, most) = self.range();
                let number = (least + turn as f64).min(most);
                whole(number).or_else(|| Some(json!(number)))
            }
            Kind::Flag => Some(Value::Bool(turn.is_multiple_of(2))),
            Kind::List => {
                let count = self.count("minItems").unwrap_or(1).max(1);
                let Some(shape) = self.items() else { return Some(json!([])) };
                (0..count.min(64))
                    .map(|at| shape.make(turn + at, depth + 1, steps))
                    .collect::<Option<Vec<_>>>()
                    .map(Value::Array)
            }
            Kind::Object => Some(json!({})),
            Kind::Words(words) => pick(words, turn),
            Kind::Fields(fields) => fields
                .iter()
                .filter(|field| field.is_required())
                .map(|field| Some((field.name()?.to_owned(), field.make(turn, depth + 1, steps)?)))
                .collect::<Option<Map<_, _>>>()
                .map(Value::Object),
            Kind::Members(members) => {
                members.iter().find_map(|member| self.make_kind(member, turn, depth + 1, steps))
            }
            Kind::Null | Kind::Unknown => None,
        }
    }

    /// The range of integers to choose from.
    fn range(self) -> (f64, f64) {
        let least = self.number("minimum").map(f64::ceil);
        let most = self.number("maximum").map(f64::floor);
        match (least, most) {
            (Some(least), Some(most)) => (least, most.max(least)),
            (Some(least), None) => (least.max(1.0), f64::MAX),
            (None, Some(most)) => (most.min(1.0), most),
            (None, None) => (1.0, f64::MAX),
        }
    }

    fn make_text(self, turn: usize) -> Option<String> {
        let fits = |text: &str| self.takes_text(text);
        if let Some(pattern) = self.text("pattern") {
            // Texts for a pattern that cannot be compiled would be guesses.
            return pattern::matching(pattern, turn, fits);
        }
        if let Some(made) = self.text("format").and_then(|format| in_format(format, turn)) {
            return Some(made).filter(|text| fits(text));
        }
        let least = self.count("minLength").unwrap_or_default();
        let most = self.count("maxLength").unwrap_or(MAX_TEXT_CHARS);
        if least > MAX_TEXT_CHARS {
            return None;
        }
        let long = format!("conformance {turn}");
        let short = turn.to_string();
        let word = [long, short].into_iter().find(|word| word.len() <= most).unwrap_or_default();
        Some(format!("{word}{}", "x".repeat(least.saturating_sub(word.len()))))
            .filter(|text| fits(text))
    }

    /// Long valid texts, if there are so many of them that they are most likely unused.
    pub(crate) fn rare(self) -> Vec<Value> {
        const FEW: usize = 10;
        if !self.kinds().iter().any(|kind| matches!(kind, Kind::Text)) {
            return Vec::new();
        }
        let is_long = |text: &str| text.chars().count() >= 8 && self.takes_text(text);
        let made = |turn| match self.text("pattern") {
            Some(pattern) => pattern::matching(pattern, turn, is_long),
            // There are few dates, and some formats have only one generated text.
            None if self
                .text("format")
                .is_some_and(|format| !["uuid", "email"].contains(&format)) =>
            {
                None
            }
            None => self.make_text(turn).filter(|text| is_long(text)),
        };
        let made: std::collections::BTreeSet<_> =
            (0..64).filter_map(|turn| made(7_919 + turn)).collect();
        if made.len() < FEW { Vec::new() } else { made.into_iter().map(Value::String).collect() }
    }

    /// Values at the bounds of the constraints, and all values of an enumeration.
    pub(crate) fn edges(self) -> Vec<Value> {
        let mut edges = Vec::new();
        if let Some(words) = self.words() {
            edges.extend(words.iter().cloned());
        }
        for name in ["minimum", "maximum"] {
            edges.extend(
                self.number(name).and_then(|edge| whole(edge).or_else(|| Some(json!(edge)))),
            );
        }
        if self.text("pattern").is_none() && self.text("format").is_none() {
            for length in ["minLength", "maxLength"].into_iter().filter_map(|name| self.count(name))
            {
                if length > 0 && length <= MAX_TEXT_CHARS {
                    edges.push(json!("x".repeat(length)));
                }
            }
            // Lengths count characters, not bytes.
            if let Some(most) =
                self.count("maxLength").filter(|most| (1..=MAX_TEXT_CHARS).contains(most))
            {
                edges.push(json!("é".repeat(most)));
            }
        }
        edges.retain(|edge| self.accepts(edge));
        edges
    }

    /// Whether the value certainly contains no named members.
    pub(crate) fn is_flat(self) -> bool {
        self.kinds().iter().all(Kind::is_flat)
    }

    /// Invalid values for every documented constraint.
    pub(crate) fn wrong(self) -> Vec<InvalidValue> {
        self.all_wrong(0)
    }

    fn all_wrong(self, depth: usize) -> Vec<InvalidValue> {
        let mut wrong = Vec::new();
        if depth > 2 {
            return wrong;
        }
        let mut add = |fault, value| {
            if !self.accepts(&value) {
                wrong.push(InvalidValue { fault, value });
            }
        };
        let kinds = self.kinds();
        let takes = |value: &Value| {
            kinds.iter().any(|kind| kind.takes_type_of(value))
                // The type of an enumeration follows from its values.
                || self.words().into_iter().flatten().any(|word| type_of(word) == type_of(value))
        };
        for value in [
            json!("conformance"),
            json!(7),
            json!(1.5),
            json!(true),
            json!(["conformance"]),
            json!({ "conformance": 1 }),
        ] {
            if !takes(&value) {
                add(Fault::Type, value);
            }
        }
        // The text of a valid number or boolean is still a text.
        let written = kinds
            .iter()
            .filter(|kind| matches!(kind, Kind::Whole | Kind::Number | Kind::Flag))
            .find_map(|kind| self.make_kind(kind, 1, 0, &Cell::new(MAX_STEPS)));
        if let Some(text) = written.map(|value| json!(value.to_string()))
            && !takes(&text)
        {
            add(Fault::Type, text);
        }
        if let Some(words) = self.words() {
            if words.iter().any(Value::is_string) {
                add(Fault::Word, json!("conformance_probe"));
            }
            if words.iter().all(Value::is_number) {
                let most = words.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
                add(Fault::Word, whole(most + 1.0).unwrap_or_default());
            }
            return wrong;
        }
        for kind in &kinds {
            match kind {
                Kind::Whole | Kind::Number => {
                    if let Some(below) =
                        self.number("minimum").and_then(|edge| whole(edge.ceil() - 1.0))
                    {
                        add(Fault::Below, below);
                    }
                    if let Some(above) =
                        self.number("maximum").and_then(|edge| whole(edge.floor() + 1.0))
                    {
                        add(Fault::Above, above);
                    }
                }
                Kind::Text => self.wrong_text(&mut add),
                Kind::List => {
                    let Some(items) = self.items() else { continue };
                    for item in items.all_wrong(depth + 1) {
                        add(Fault::Item, json!([item.value]));
                    }
                }
                Kind::Object => {
                    let Some(values) = self.items() else { continue };
                    for value in values.all_wrong(depth + 1) {
                        add(Fault::Item, json!({ "conformance": value.value }));
                    }
                }
                Kind::Fields(fields) => {
                    let Some(Value::Object(whole)) =
                        self.make_kind(kind, 0, 0, &Cell::new(MAX_STEPS))
                    else {
                        continue;
                    };
                    for field in fields {
                        let Some(name) = field.name() else { continue };
                        if field.is_required() {
                            let mut lacking = whole.clone();
                            lacking.remove(name);
                            add(Fault::Member, lacking.into());
                        }
                        if let Some(item) = field.all_wrong(depth + 1).into_iter().next() {
                            let mut changed = whole.clone();
                            changed.insert(name.to_owned(), item.value);
                            add(Fault::Member, changed.into());
                        }
                    }
                }
                _ => {}
            }
        }
        wrong
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
    fn is_flat(&self) -> bool {
        match self {
            Self::Object | Self::Fields(_) | Self::Unknown => false,
            Self::Members(members) => members.iter().all(Self::is_flat),
            _ => true,
        }
    }

    /// Whether a value has the JSON type, apart from other faults.
    fn takes_type_of(&self, value: &Value) -> bool {
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

/// Uses a step, if one is left.
fn step(steps: &Cell<usize>) -> bool {
    let left = steps.get();
    steps.set(left.saturating_sub(1));
    left > 0
}

fn pick(words: &[Value], turn: usize) -> Option<Value> {
    words.get(turn.checked_rem(words.len())?).cloned()
}

/// Converts a number without a fraction to JSON, if that is exact.
fn whole(number: f64) -> Option<Value> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0).then(|| json!(number as i64))
}

fn in_format(format: &str, turn: usize) -> Option<String> {
    Some(match format {
        "date" => format!("2031-05-{:02}", turn % 28 + 1),
        "date-time" => format!("2031-05-06T07:08:{:02}Z", turn % 60),
        "email" => format!("conformance{turn}@example.com"),
        "uri" | "url" => format!("https://example.com/conformance/{turn}"),
        "uuid" => format!("6f1c1b1e-7d2a-4c4e-9a53-{turn:012x}"),
        "byte" | "base64" => "Y29uZm9ybWFuY2U=".to_owned(),
        "time" => format!("07:08:{:02}Z", turn % 60),
        "duration" => format!("PT{}M", turn % 60 + 1),
        "hostname" => "example.com".to_owned(),
        "ipv4" => "192.0.2.1".to_owned(),
        "ipv6" => "2001:db8::1".to_owned(),
        _ => return None,
    })
}

/// Texts that do not have this format in any variant.
fn not_in_format(format: &str) -> &'static [&'static str] {
    match format {
        "date" => &["no date", "2031-02-30"],
        "date-time" => &["no instant", "2031-13-06T07:08:09Z"],
        "email" => &["no email"],
        "uri" | "url" => &["no uri"],
        "uuid" => &["no uuid"],
        "byte" | "base64" => &["%%%%"],
        _ => &[],
    }
}

fn is_in_format(format: &str, text: &str) -> bool {
    static URI: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$").ok());
    static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$").ok()
    });
    static BASE64: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$").ok()
    });
    let is = |regex: &Option<Regex>| regex.as_ref().is_none_or(|regex| regex.is_match(text));
    match format {
        "date" => text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok(),
        "date-time" => DateTime::parse_from_rfc3339(text).is_ok(),
        "email" => text.rsplit_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !host.is_empty() && !text.contains(' ')
        }),
        "uri" | "url" => is(&URI),
        "uuid" => is(&UUID),
        "byte" | "base64" => is(&BASE64),
        _ => true,
    }
}

/// Whether an invalid identifier matches no item even if the adapter converts it: 7 becomes "7", true
/// becomes 1, and an empty text may match all items.
pub(crate) fn hits_nothing(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("conformance") || text.chars().count() > 40,
        Value::Array(items) => !items.is_empty() && items.iter().all(hits_nothing),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> Vec<Type> {
        [
            json!({ "name": "Status", "kind": "enum", "values": ["todo", "done"] }),
            json!({ "name": "Place", "kind": "object", "fields": [
                { "name": "shelf", "type": "string", "required": true, "pattern": "^[A-Z][0-9]$" },
                { "name": "floor", "type": "integer", "required": true, "minimum": 0 },
                { "name": "hint", "type": "string", "required": false },
            ]}),
            json!({ "name": "Either", "kind": "union", "members": ["Status", "Place"] }),
            json!({ "name": "Own", "kind": "object", "fields": [
                { "name": "own", "type": "Own", "required": true },
            ]}),
            json!({ "name": "Instant", "kind": "scalar" }),
        ]
        .into_iter()
        .map(|details| Type {
            name: details["name"].as_str().unwrap().to_owned(),
            listed: Value::Null,
            reply: json!({ "data": { "type": details } }),
        })
        .collect()
    }

    /// Runs a closure on the shape of a parameter.
    fn with<T>(raw: Value, look: impl FnOnce(Shape<'_>) -> T) -> T {
        look(Shape::new(raw.as_object().unwrap(), &types()))
    }

    fn forms() -> Vec<Value> {
        vec![
            json!({ "type": "string" }),
            json!({ "type": "string", "minLength": 3, "maxLength": 5 }),
            json!({ "type": "string", "maxLength": 40, "pattern": "^p-[0-9]{1,9}$" }),
            json!({ "type": "string", "enum": ["a", "b"] }),
            json!({ "type": "string", "format": "date" }),
            json!({ "type": "string", "format": "date-time" }),
            json!({ "type": "string", "format": "email" }),
            json!({ "type": "string", "format": "uri" }),
            json!({ "type": "string", "format": "uuid" }),
            json!({ "type": "string", "format": "byte" }),
            json!({ "type": "integer" }),
            json!({ "type": "integer", "minimum": -3, "maximum": 5 }),
            json!({ "type": "integer", "maximum": -10 }),
            json!({ "type": "number", "minimum": 0.5, "maximum": 0.75 }),
            json!({ "type": "boolean" }),
            json!({ "type": "array", "items": { "type": "integer", "minimum": 4 } }),
            json!({ "type": "object" }),
            json!({ "type": "object or array" }),
            json!({ "type": "Status" }),
            json!({ "type": "Place" }),
            json!({ "type": "Either" }),
            json!({ "type": "array", "items": { "type": "Place" } }),
        ]
    }

    #[test]
    fn accepts_generated_values_and_rejects_wrong_ones() {
        for raw in forms() {
            with(raw.clone(), |shape| {
                for turn in 0..40 {
                    let made = shape.made(turn).filter(|made| shape.accepts(made));
                    // No integer lies between 0.5 and 0.75.
                    let is_narrow = raw.get("maximum") == Some(&json!(0.75));
                    assert!(made.is_some() || is_narrow, "{raw}");
                }
                for edge in shape.edges() {
                    assert!(shape.accepts(&edge), "{raw}: {edge}");
                }
                let wrong = shape.wrong();
                assert!(!wrong.is_empty(), "{raw}");
                for wrong in wrong {
                    assert!(!shape.accepts(&wrong.value), "{raw}: {wrong:?}");
                }
            });
        }
    }

    #[test]
    fn every_constraint_has_an_invalid_value() {
        let faults = |raw| {
            with(raw, |shape| {
                shape
                    .wrong()
                    .into_iter()
                    .map(|wrong| (wrong.fault, wrong.value))
                    .filter(|(fault, _)| *fault != Fault::Type)
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(
            faults(json!({ "type": "integer", "minimum": 1, "maximum": 5 })),
            [(Fault::Below, json!(0)), (Fault::Above, json!(6))]
        );
        assert_eq!(
            faults(json!({ "type": "string", "minLength": 1, "maxLength": 2 })),
            [(Fault::Short, json!("")), (Fault::Long, json!("xxx"))]
        );
        assert_eq!(
            faults(json!({ "type": "string", "enum": ["a"] })),
            [(Fault::Word, json!("conformance_probe"))]
        );
        assert_eq!(faults(json!({ "type": "integer", "enum": [2, 4] })), [(Fault::Word, json!(5))]);
        assert_eq!(
            faults(json!({ "type": "string", "pattern": "^[0-9]{4,8}$" })),
            [(Fault::Pattern, json!("!"))]
        );
        assert_eq!(
            faults(json!({ "type": "string", "format": "date" })),
            [(Fault::Format, json!("no date")), (Fault::Format, json!("2031-02-30"))]
        );
        assert_eq!(
            faults(json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } })).len(),
            6
        );
        let members = faults(json!({ "type": "Place" }));
        assert!(members.contains(&(Fault::Member, json!({ "floor": 1 }))), "{members:?}");
    }

    #[test]
    fn values_of_other_types_are_invalid() {
        let types = |raw| {
            with(raw, |shape| {
                shape
                    .wrong()
                    .into_iter()
                    .filter(|wrong| wrong.fault == Fault::Type)
                    .map(|wrong| wrong.value)
                    .collect::<Vec<_>>()
            })
        };
        let integer = types(json!({ "type": "integer" }));
        assert!(integer.contains(&json!(1.5)) && !integer.contains(&json!(7)), "{integer:?}");
        let word = types(json!({ "type": "string", "enum": ["a"] }));
        assert!(word.contains(&json!(7)) && !word.iter().any(Value::is_string), "{word:?}");
        let either = types(json!({ "type": "string or array" }));
        assert!(!either.iter().any(|value| value.is_array() || value.is_string()), "{either:?}");
        assert_eq!(types(json!({ "type": "any" })), [] as [Value; 0]);
        assert_eq!(types(json!({ "type": "Instant" })), [] as [Value; 0]);
    }

    #[test]
    fn text_of_a_number_is_not_a_number() {
        let text = |raw, text: &str| {
            let wrong = InvalidValue { fault: Fault::Type, value: json!(text) };
            with(raw, |shape| shape.wrong().contains(&wrong))
        };
        assert!(text(json!({ "type": "integer", "minimum": 3 }), "4"));
        assert!(text(json!({ "type": "boolean" }), "false"));
        assert!(!text(json!({ "type": "integer or string" }), "2"));
    }

    #[test]
    fn checks_values_of_maps() {
        with(json!({ "type": "object", "items": { "type": "integer" } }), |shape| {
            assert!(shape.accepts(&json!({ "a": 1 })) && !shape.accepts(&json!({ "a": "x" })));
            let wrong = InvalidValue { fault: Fault::Item, value: json!({ "conformance": true }) };
            assert!(shape.wrong().contains(&wrong), "{:?}", shape.wrong());
        });
    }

    #[test]
    fn turns_give_different_values() {
        for raw in [
            json!({ "type": "string" }),
            json!({ "type": "string", "enum": ["a", "b", "c"] }),
            json!({ "type": "integer", "minimum": 1, "maximum": 5 }),
            json!({ "type": "string", "format": "date" }),
            json!({ "type": "string", "pattern": "^p-[0-9]{1,9}$" }),
        ] {
            let (first, second) =
                with(raw.clone(), |shape| (shape.made(0).unwrap(), shape.made(1).unwrap()));
            assert_ne!(first, second, "{raw}");
        }
    }

    #[test]
    fn unsatisfiable_shapes_give_none() {
        assert_eq!(with(json!({ "type": "Own" }), |shape| shape.made(0)), None);
        assert_eq!(with(json!({ "type": "Missing" }), |shape| shape.made(0)), None);
        assert_eq!(with(json!({}), |shape| shape.made(0)), None);
        let impossible = json!({ "type": "string", "minLength": 9, "maxLength": 2 });
        assert_eq!(with(impossible, |shape| shape.made(0)), None);
        let odd = json!({ "type": "string", "pattern": "(", "minLength": -1, "maxLength": "x" });
        assert_eq!(with(odd, |shape| shape.made(0)), None);
        let huge = json!({ "type": "string", "minLength": 99_999_999_999_u64 });
        assert_eq!(with(huge, |shape| (shape.made(0), shape.edges())), (None, vec![]));
        // Recursive unions and objects.
        let names: Vec<_> = (0..30).map(|at| format!("T{at}")).collect();
        let unions = names.iter().map(|name| {
            json!({ "name": name, "kind": "union", "members":
            names.iter().cloned().chain((0..30).map(|at| format!("F{at}"))).collect::<Vec<_>>() })
        });
        let objects = (0..30).map(|at| {
            json!({ "name": format!("F{at}"), "kind": "object", "fields":
            [{ "name": "own", "type": "T0", "required": true }] })
        });
        let types: Vec<_> = unions
            .chain(objects)
            .map(|details| Type {
                name: details["name"].as_str().unwrap().to_owned(),
                listed: Value::Null,
                reply: json!({ "data": { "type": details } }),
            })
            .collect();
        let raw = json!({ "type": "T0" });
        let shape = Shape::new(raw.as_object().unwrap(), &types);
        let mut deep = json!(1);
        for _ in 0..20 {
            deep = json!({ "own": deep });
        }
        assert_eq!(
            (shape.made(0), shape.accepts(&json!(7)), shape.accepts(&deep)),
            (None, false, true)
        );
        // A list of a recursive type.
        with(json!({ "type": "Own" }), |shape| assert!(shape.wrong().len() < 20));
    }

    #[test]
    fn recognizes_invalid_values_that_match_no_item() {
        for aimed in
            [json!(7), json!(1.5), json!(true), json!(null), json!(""), json!("0"), json!([])]
        {
            assert!(!hits_nothing(&aimed), "{aimed}");
        }
        for wide in [json!("conformance"), json!(["conformance"]), json!({ "conformance": 1 })] {
            assert!(hits_nothing(&wide), "{wide}");
        }
        assert!(!hits_nothing(&json!(["conformance", 7])));
    }
}
