//! Generates valid values of a shape, and values at the bounds of its constraints.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use super::format::in_format;
use super::pattern;
use super::{Kind, MAX_DEPTH, MAX_STEPS, Shape, step};
use crate::verbs::widens_effect;

/// Maximum number of tested values of an enumeration.
const MAX_WORDS: usize = 32;
/// Maximum length of generated strings, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 65_536;

fn pick(words: &[Value], turn: usize) -> Option<Value> {
    words.get(turn.checked_rem(words.len())?).cloned()
}

/// Returns the values of an enumeration. If there are many, returns the first, the last, and values at equal distances
/// between them.
fn sampled(words: &[Value]) -> impl Iterator<Item = &Value> {
    let last = words.len().saturating_sub(1);
    let count = words.len().min(MAX_WORDS);
    (0..count).filter_map(move |at| words.get(at * last / (count - 1).max(1)))
}

/// Converts a number without a fraction to JSON, if the conversion is exact.
pub(super) fn whole(number: f64) -> Option<Value> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0).then(|| json!(number as i64))
}

impl<'a> Shape<'a> {
    /// Generates a valid value. Another `turn` gives another value if possible.
    pub(crate) fn made(self, turn: usize) -> Option<Value> {
        self.make(turn, 0, &Cell::new(MAX_STEPS)).filter(|value| self.accepts(value))
    }

    /// Returns `true` if a value with this name might remove a safeguard or extend a call to more data.
    fn widens_effect(self) -> bool {
        self.name().is_some_and(widens_effect)
    }

    fn make(self, turn: usize, depth: usize, steps: &Cell<usize>) -> Option<Value> {
        if depth > MAX_DEPTH || !step(steps) {
            return None;
        }
        if let Some(words) = self.raw.get("enum").and_then(Value::as_array) {
            let widens = |word: &Value| *word == true && self.widens_effect();
            return pick(words, turn).filter(|word| !widens(word));
        }
        self.kinds().iter().find_map(|kind| self.make_kind(kind, turn, depth, steps))
    }

    pub(super) fn make_kind(
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
            // `true` is never invented for flags such as `force`.
            Kind::Flag => Some(Value::Bool(turn.is_multiple_of(2) && !self.widens_effect())),
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

    /// Returns the range of integers to choose from.
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
            // Without a compiled pattern, strings would be guesses.
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

    /// Returns long valid strings, most likely unused by items. Returns none if too few are possible.
    pub(crate) fn rare(self) -> Vec<Value> {
        const FEW: usize = 10;
        if !self.kinds().iter().any(|kind| matches!(kind, Kind::Text)) {
            return Vec::new();
        }
        let is_long = |text: &str| text.chars().count() >= 8 && self.takes_text(text);
        let made = |turn| match self.text("pattern") {
            Some(pattern) => pattern::matching(pattern, turn, is_long),
            // Only few dates exist, and some formats have a single generated string.
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

    /// Returns values at the bounds of the constraints, and the values of an enumeration, or a sample of them.
    pub(crate) fn edges(self) -> Vec<Value> {
        let mut edges = Vec::new();
        if let Some(words) = self.words() {
            edges.extend(sampled(words).cloned());
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
            // A two-byte character shows if an adapter counts bytes instead of characters.
            if let Some(most) =
                self.count("maxLength").filter(|most| (1..=MAX_TEXT_CHARS).contains(most))
            {
                edges.push(json!("é".repeat(most)));
            }
        }
        edges.retain(|edge| self.accepts(edge));
        edges
    }
}
