//! Checks values against constraints, and describes the constraint that a value violates.

use mcp_aql_protocol::nearest_name;
use serde_json::Value;

use super::Checks;
use crate::constraint::{Bound, has_format};

impl Checks {
    /// The constraint that `value` violates, to complete the sentence "Parameter 'x' …".
    pub(super) fn broken_by(&self, value: &Value) -> Option<String> {
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            return Some(self.must_be_one(value));
        }
        match value {
            Value::Number(_) => self.out_of_range(Bound::of(value)?),
            Value::String(text) => self.bad_text(text),
            Value::Array(values) => {
                let (least, most) =
                    (self.min_items.unwrap_or(0), self.max_items.unwrap_or(usize::MAX));
                (values.len() < least || values.len() > most).then(|| {
                    format!(
                        "must have {} items, has {}",
                        range(self.min_items, self.max_items),
                        values.len()
                    )
                })
            }
            _ => None,
        }
    }

    /// The allowed values as text, if they are listed.
    pub(crate) fn allowed_values(&self) -> Vec<String> {
        self.allowed.iter().map(plain).collect()
    }

    fn must_be_one(&self, value: &Value) -> String {
        let shown = self.allowed_values();
        let mut text = format!("must be one of: {}", shown.join(", "));
        let candidates = self.allowed.iter().filter_map(Value::as_str);
        if let Some(near) = value.as_str().and_then(|text| nearest_name(text, candidates)) {
            text.push_str(&format!(". Did you mean '{near}'?"));
        }
        text
    }

    fn out_of_range(&self, number: Bound) -> Option<String> {
        let below = self.minimum.is_some_and(|least| less(number, least))
            || self.above.is_some_and(|least| !less(least, number));
        let above = self.maximum.is_some_and(|most| less(most, number))
            || self.below.is_some_and(|most| !less(number, most));
        (below || above).then(|| {
            let mut parts = Vec::new();
            for (text, bound) in [
                ("", self.minimum),
                ("more than ", self.above),
                ("up to ", self.maximum),
                ("less than ", self.below),
            ] {
                if let Some(bound) = bound {
                    let or_more =
                        if text.is_empty() && self.maximum.is_none() { " or more" } else { "" };
                    let joined =
                        if text == "up to " && self.minimum.is_some() { "to " } else { text };
                    parts.push(format!("{joined}{}{or_more}", plain_bound(bound)));
                }
            }
            format!("must be {}", parts.join(" "))
        })
    }

    fn bad_text(&self, text: &str) -> Option<String> {
        let least = self.min_length.unwrap_or(0);
        let most = self.max_length.unwrap_or(usize::MAX);
        if least > 0 || most < usize::MAX {
            let length = text.chars().count();
            if length < least || length > most {
                return Some(format!(
                    "must have {} characters, has {length}",
                    range(self.min_length, self.max_length)
                ));
            }
        }
        if let Some(pattern) = self.patterns.iter().find(|pattern| !pattern.is_match(text)) {
            return Some(format!("must match the pattern '{pattern}'"));
        }
        self.format.filter(|format| !has_format(*format, text)).map(|format| {
            format!("must be in '{}' form, such as '{}'", format.as_str(), format.example())
        })
    }
}

/// `1 to 200`, `1 or more`, `up to 20`.
fn range(least: Option<usize>, most: Option<usize>) -> String {
    match (least, most) {
        (Some(least), Some(most)) if least == most => format!("exactly {least}"),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(most)) => format!("up to {most}"),
        (None, None) => "any number of".to_owned(),
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

/// A scalar without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
