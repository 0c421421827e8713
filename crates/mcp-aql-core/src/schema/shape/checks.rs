//! Checks values against constraints, and describes the violated constraint.

use std::collections::HashSet;

use mcp_aql_protocol::{Format, nearest_name, snake_case};
use serde_json::Value;

use super::Checks;
use super::describe::is_telling_bound;
use crate::schema::constraint::{Bound, has_format};
use crate::schema::instant::unsupported_instant;

/// Strings of this length are common. A message need not mention such a maximum length, or a longer one.
const USUAL_LENGTH: usize = 20;

impl Checks {
    /// Describes the constraint that `value` violates. The result completes the sentence "Parameter 'x' …".
    pub(super) fn broken_by(&self, value: &Value) -> Option<String> {
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            return Some(self.must_be_one(value));
        }
        match value {
            Value::Number(number) => {
                // The number would become infinite, and JSON cannot represent this.
                #[expect(clippy::cast_possible_truncation, reason = "the type has 32 bits")]
                let exceeds = |number: f64| (number as f32).is_infinite();
                match self.single && number.as_f64().is_some_and(exceeds) {
                    true => Some("must be -3.4e38 to 3.4e38".to_owned()),
                    false => self.out_of_range(Bound::of(value)?),
                }
            }
            Value::String(text) => self.bad_text(text).or_else(|| {
                let number = Bound::in_text(text).filter(|_| self.text_too)?;
                self.out_of_range(number)
            }),
            Value::Array(values) => {
                bad_count((self.min_items, self.max_items), "items", values.len()).or_else(|| {
                    let mut seen = HashSet::new();
                    let repeats = self.distinct && !values.iter().all(|value| seen.insert(value));
                    repeats.then(|| "must not have an item twice".to_owned())
                })
            }
            Value::Object(members) => {
                bad_count((self.min_members, self.max_members), "members", members.len())
            }
            _ => None,
        }
    }

    /// Returns the allowed values as strings, if they are listed.
    pub(crate) fn allowed_values(&self) -> Vec<String> {
        self.allowed.iter().map(plain).collect()
    }

    /// Formats a range: `1 to 200`, `1 or more`, `up to 20`.
    pub(super) fn range(least: Option<usize>, most: Option<usize>) -> String {
        match (least, most) {
            (Some(least), Some(most)) if least == most => format!("exactly {least}"),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(most)) => format!("up to {most}"),
            (None, None) => "any number of".to_owned(),
        }
    }

    fn must_be_one(&self, value: &Value) -> String {
        let shown = self.allowed_values();
        let mut text = format!("must be one of: {}", shown.join(", "));
        let mut candidates = self.allowed.iter().filter_map(Value::as_str);
        let near = |text: &str| {
            // `In Progress` is a closer match for `in_progress` than the edit distance shows.
            let snake = snake_case(text);
            let same = candidates.clone().find(|known| snake_case(known) == snake);
            same.or_else(|| nearest_name(text, candidates.by_ref()))
        };
        if let Some(near) = value.as_str().and_then(near) {
            text.push_str(&format!(". Did you mean '{near}'?"));
        }
        text
    }

    fn out_of_range(&self, number: Bound) -> Option<String> {
        let below = self.minimum.is_some_and(|least| less(number, least))
            || self.above.is_some_and(|least| !less(least, number));
        let above = self.maximum.is_some_and(|most| less(most, number))
            || self.below.is_some_and(|most| !less(number, most));
        if below || above {
            return Some(format!("must be {}", self.numbers(|_| true)));
        }
        let factor = self.multiple_of.filter(|factor| !is_multiple(number, *factor))?;
        Some(format!("must be a multiple of {}", plain_bound(factor)))
    }

    /// Formats the range of a number from the bounds selected by `shown`: `1 to 5`, `3 or more`.
    fn numbers(&self, shown: impl Fn(Bound) -> bool) -> String {
        let [minimum, above, maximum, below] = [self.minimum, self.above, self.maximum, self.below]
            .map(|bound| bound.filter(|bound| shown(*bound)));
        let mut parts = Vec::new();
        for (text, bound) in
            [("", minimum), ("more than ", above), ("up to ", maximum), ("less than ", below)]
        {
            if let Some(bound) = bound {
                let or_more = if text.is_empty() && maximum.is_none() { " or more" } else { "" };
                let joined = if text == "up to " && minimum.is_some() { "to " } else { text };
                parts.push(format!("{joined}{}{or_more}", plain_bound(bound)));
            }
        }
        parts.join(" ")
    }

    /// Returns the constraint that callers do not expect, for messages such as "Expected: integer, 1 to 5". Ordinary
    /// lengths of strings are left out.
    pub(crate) fn rule(&self) -> Option<String> {
        if !self.allowed.is_empty() {
            return Some(format!("one of: {}", self.allowed_values().join(", ")));
        }
        let numbers = self.numbers(|bound| is_telling_bound(self, bound));
        let pattern = self.patterns.first().map(|pattern| format!("matching '{pattern}'"));
        let format = self.format.map(|format| format!("such as '{}'", format.example()));
        let items = self.min_items.filter(|least| *least > 0);
        let items = items.map(|_| format!("{} items", Self::range(self.min_items, self.max_items)));
        let numbers = Some(numbers).filter(|numbers| !numbers.is_empty());
        let parts: Vec<_> = [numbers, self.unusual_length(), pattern, format, items]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns the length of strings if callers do not expect it.
    pub(super) fn unusual_length(&self) -> Option<String> {
        let is_unusual = self.min_length.is_some_and(|least| least > 1)
            || self.max_length.is_some_and(|most| most < USUAL_LENGTH);
        is_unusual.then(|| format!("{} characters", Self::range(self.min_length, self.max_length)))
    }

    fn bad_text(&self, text: &str) -> Option<String> {
        let least = self.min_length.unwrap_or(0);
        let most = self.max_length.unwrap_or(usize::MAX);
        if least > 0 || most < usize::MAX {
            let length = text.chars().count();
            if length < least || length > most {
                return Some(format!(
                    "must have {} characters, has {length}",
                    Self::range(self.min_length, self.max_length)
                ));
            }
        }
        if let Some(pattern) = self.patterns.iter().find(|pattern| !pattern.is_match(text)) {
            return Some(format!("must match the pattern '{pattern}'"));
        }
        self.format.filter(|format| !has_format(*format, text)).map(|format| {
            if format == Format::DateTime
                && let Ok(instant) = chrono::DateTime::parse_from_rfc3339(text)
                && let Some(reason) = unsupported_instant(&instant.to_utc())
            {
                return reason.to_owned();
            }
            let expected =
                format!("must be in '{}' form, such as '{}'", format.as_str(), format.example());
            // A caller who only sees the example would append its 'Z', even if another time zone is meant.
            let lacks_offset =
                format == Format::DateTime && has_format(format, &format!("{text}Z"));
            match lacks_offset {
                true => format!("{expected}: it lacks the offset from UTC, '+02:00' or 'Z'"),
                false => expected,
            }
        })
    }
}

/// Describes a wrong number of items or members.
fn bad_count(
    (least, most): (Option<usize>, Option<usize>),
    noun: &str,
    count: usize,
) -> Option<String> {
    let fits = least.unwrap_or(0) <= count && count <= most.unwrap_or(usize::MAX);
    (!fits).then(|| format!("must have {} {noun}, has {count}", Checks::range(least, most)))
}

/// Returns `true` if a number is a multiple of another one. Decimal fractions such as 0.1 have no exact binary form, so
/// their quotient may differ from a whole number by rounding.
fn is_multiple(number: Bound, factor: Bound) -> bool {
    match (number, factor) {
        (Bound::Int(number), Bound::Int(factor)) => {
            number.checked_rem(factor).is_none_or(|rest| rest == 0)
        }
        _ => {
            let quotient = number.to_float() / factor.to_float();
            (quotient - quotient.round()).abs() <= quotient.abs() * 4.0 * f64::EPSILON
        }
    }
}

fn less(left: Bound, right: Bound) -> bool {
    left.compare(right).is_some_and(std::cmp::Ordering::is_lt)
}

fn plain_bound(bound: Bound) -> String {
    match bound {
        Bound::Int(number) => number.to_string(),
        Bound::Float(number) => number.to_string(),
    }
}

/// Formats a scalar, strings without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_without_an_offset_is_not_completed_by_the_example() {
        let checks = Checks { format: Some(Format::DateTime), ..Checks::default() };
        for (text, lacks_offset) in [
            ("2031-05-06T07:08:09", true),
            ("2031-05-06 07:08:09.5", true),
            ("2031-05-06", false),
            ("soon", false),
        ] {
            let broken = checks.broken_by(&json!(text)).unwrap();
            assert_eq!(broken.contains("lacks the offset"), lacks_offset, "{text}: {broken}");
        }
        assert_eq!(checks.broken_by(&json!("2031-05-06T07:08:09+02:00")), None);
        for (text, reason) in [
            ("2016-12-31T23:59:60Z", "must not be in a leap second: seconds go from 00 to 59"),
            (
                "9999-12-31T23:59:59-12:00",
                "must be from 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z",
            ),
        ] {
            assert_eq!(checks.broken_by(&json!(text)).as_deref(), Some(reason));
        }
    }
}
