//! Checks if a value has a shape.

use std::cell::Cell;

use serde_json::Value;

use super::format::is_in_format;
use super::pattern;
use super::{Kind, MAX_DEPTH, MAX_STEPS, Shape, step};

impl<'a> Shape<'a> {
    /// Returns `true` if a value has the type and satisfies the constraints.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        self.admits(value, 0, &Cell::new(MAX_STEPS))
    }

    /// Like [`accepts`](Self::accepts), within the depth and step limits. Accepts values beyond them.
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

    pub(super) fn takes_text(self, text: &str) -> bool {
        let length = text.chars().count();
        self.count("minLength").is_none_or(|least| length >= least)
            && self.count("maxLength").is_none_or(|most| length <= most)
            // A pattern that cannot be compiled accepts all strings.
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
}
