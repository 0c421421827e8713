//! Checks of dates, timestamps and numbers in results.

use serde_json::Value;

use super::{of_success, results, subject};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::Run;

/// Largest integer with an exact representation in all JSON parsers: 2^53 - 1.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Verbs in the names of members with dates or timestamps, for example `created` in `created_at`.
const WHEN: [&str; 15] = [
    "closed",
    "completed",
    "created",
    "deleted",
    "expired",
    "expires",
    "finished",
    "issued",
    "modified",
    "opened",
    "published",
    "resets",
    "started",
    "timestamp",
    "updated",
];

/// Returns `true` if a member with this name holds a date or a timestamp.
fn tells_when(name: &str) -> bool {
    match name.strip_suffix("_at").or_else(|| name.strip_suffix("_date")) {
        Some(stem) => WHEN.contains(&stem) || stem == "due",
        None => name == "timestamp",
    }
}

/// Collects all dates and timestamps at any depth. The name of a member shows that it holds one.
fn whens<'a>(value: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if tells_when(name) && !value.is_null() {
                    found.push((name, value));
                } else {
                    whens(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| whens(item, found)),
        _ => {}
    }
}

const NO_DATES: &str = "no result has a member such as `created_at`";

/// Parses a timestamp with its offset.
fn instant(text: &str) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    chrono::DateTime::parse_from_rfc3339(text).ok()
}

/// Returns the dates and timestamps in the data of a call.
///
/// Details of failures and introspection are excluded, because their members are named after parameters.
fn whens_of(exchange: &Exchange) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    for (operation, result) in results(exchange) {
        if operation != "introspect"
            && result.get("success") == Some(&Value::Bool(true))
            && let Some(data) = result.get("data")
        {
            whens(data, &mut found);
        }
    }
    found
}

pub(super) fn dates(_: &Run, exchange: &Exchange, cases: &Cases) {
    let found = whens_of(exchange);
    if found.is_empty() {
        return cases.not_applicable(NO_DATES);
    }
    let wrong = found.iter().find(|(_, value)| {
        let is_iso = value.as_str().is_some_and(|text| {
            instant(text).is_some() || text.parse::<chrono::NaiveDate>().is_ok()
        });
        // In documented types and filters, a member with such a name may be an object or a list.
        !is_iso && !value.is_object() && !value.is_array()
    });
    cases.expect(wrong.is_none(), || {
        let (name, value) = wrong.copied().unwrap_or(("", &Value::Null));
        Finding::of(exchange, format!("{}: `{name}`", subject(exchange)))
            .expected(format!("`{name}` such as 2031-05-06 or 2031-05-06T07:08:09Z, not {value}"))
    });
}

pub(super) fn instants(_: &Run, exchange: &Exchange, cases: &Cases) {
    let found = whens_of(exchange);
    if found.is_empty() {
        return cases.not_applicable(NO_DATES);
    }
    let elsewhere = found.iter().find_map(|(name, value)| {
        let text = value.as_str()?;
        (instant(text).is_some() && !text.ends_with('Z')).then_some((*name, text))
    });
    cases.expect(elsewhere.is_none(), || {
        let (name, text) = elsewhere.unwrap_or_default();
        Finding::of(exchange, format!("{}: `{name}`", subject(exchange)))
            .expected(format!("`{name}` in UTC, with the suffix Z, not {text}"))
    });
}

/// Returns the first number beyond `MAX_EXACT_INTEGER`, at any depth.
fn is_big(value: &Value) -> Option<&Value> {
    match value {
        Value::Number(number) => {
            let is_big = number.as_f64().is_some_and(|number| number.abs() > MAX_EXACT_INTEGER);
            is_big.then_some(value)
        }
        Value::Object(members) => members.values().find_map(is_big),
        Value::Array(items) => items.iter().find_map(is_big),
        _ => None,
    }
}

pub(super) fn big_numbers(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = of_success(exchange).and_then(|body| body.get("data")) else { return };
    let big = is_big(data);
    cases.expect(big.is_none(), || {
        Finding::of(exchange, subject(exchange)).expected(format!(
            "numbers up to 9007199254740991, not {}",
            big.map(ToString::to_string).unwrap_or_default()
        ))
    });
}
