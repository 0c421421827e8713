//! Parses the operands of conditions.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use mcp_aql_core::constraint::has_format;
use mcp_aql_core::internal::schema::unsupported_instant;
use mcp_aql_protocol::Format;
use serde_json::Value;

use super::QueryFaults;
use super::faults::is_json_text;
use crate::columns::instant_of;
use crate::field_info::FieldInfo;
use crate::plan::Test;
use crate::value::{Scalar, ValueKind};

/// Returns the noun for a field's values in messages.
pub(crate) fn noun(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Boolean => "boolean",
        ValueKind::Integer => "integer",
        ValueKind::Number => "number",
        ValueKind::Text | ValueKind::Choice => "string",
        ValueKind::Date => "date such as '2031-05-06'",
        ValueKind::Instant => "date-time such as '2031-05-06T07:00:00Z'",
        ValueKind::Json => "any",
    }
}

/// Parses a value to compare with a field.
pub(super) fn read(
    field: &FieldInfo,
    param: &str,
    value: &Value,
    faults: &mut QueryFaults,
) -> Option<Scalar> {
    let scalar = match (field.kind, value) {
        (ValueKind::Boolean, Value::Bool(value)) => Some(Scalar::Bool(*value)),
        (ValueKind::Integer, Value::Number(number)) => {
            let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            whole.or_else(|| whole_of(number.as_f64()?)).map(Scalar::Int)
        }
        (ValueKind::Number, Value::Number(number)) => {
            number.as_f64().map(|number| Scalar::Float(number + 0.0))
        }
        (ValueKind::Text, Value::String(text)) => Some(Scalar::from(text.clone())),
        (ValueKind::Choice, Value::String(text)) => {
            if !field.choices.contains(text) {
                let choices: Vec<_> = field.choices.iter().map(String::as_str).collect();
                let hint =
                    is_json_text(text).then(|| "Send it as JSON, not as a string".to_owned());
                faults.unknown_meaning(param, "value", text, &choices, hint);
                return None;
            }
            Some(Scalar::from(text.clone()))
        }
        (ValueKind::Date, Value::String(text)) => day_of(text).map(Scalar::Date),
        (ValueKind::Instant, Value::String(text)) => {
            if let Some(problem) = problem_with_instant(field, text) {
                faults.refuse(param, &problem, noun(field.kind));
                return None;
            }
            instant_of(text).map(Scalar::Instant)
        }
        _ => None,
    };
    if scalar.is_none() {
        let is_text = value.as_str().is_some_and(|text| !is_json_text(text));
        let dated = matches!(field.kind, ValueKind::Date | ValueKind::Instant);
        if is_text && dated {
            let expected = noun(field.kind);
            faults.refuse(param, &format!("must be a {expected}"), expected);
        } else {
            let choices = field.choices.join(", ");
            let form = (!choices.is_empty()).then(|| format!("a string, one of: {choices}"));
            faults.wrong_form(param, noun(field.kind), value, form.as_deref());
        }
    }
    scalar
}

/// Returns the problem with a date or a point in time that is well-formed, but cannot be compared with the field.
fn problem_with_instant(field: &FieldInfo, text: &str) -> Option<String> {
    if field.list && day_of(text).is_some() {
        return Some(format!(
            "must be a {}: a date means a whole day, but the entries of a list are compared with one instant",
            noun(field.kind)
        ));
    }
    let instant = DateTime::parse_from_rfc3339(text).ok()?;
    unsupported_instant(&instant.to_utc()).map(str::to_owned)
}

/// A date compared with a field of instants: the whole day in UTC (REQ-ENC-04).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day {
    start: DateTime<Utc>,
    /// The start of the next day.
    end: DateTime<Utc>,
}

impl Day {
    /// Parses a day, if the field holds a single instant.
    pub(super) fn read(field: &FieldInfo, value: &Value) -> Option<Self> {
        if field.kind != ValueKind::Instant || field.list {
            return None;
        }
        let day = day_of(value.as_str()?)?;
        let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        Some(Self { start: midnight(day), end: midnight(day.succ_opt()?) })
    }

    /// Returns the tests that an instant is on this day.
    pub(super) fn within(&self) -> [Test; 2] {
        [self.since(), self.until()]
    }

    /// Returns the test that an instant is on this day or later.
    pub(super) fn since(&self) -> Test {
        Test::Above { bound: Scalar::Instant(self.start), inclusive: true }
    }

    /// Returns the test that an instant is on a later day.
    pub(super) fn after(&self) -> Test {
        Test::Above { bound: Scalar::Instant(self.end), inclusive: true }
    }

    /// Returns the test that an instant is on an earlier day.
    pub(super) fn before(&self) -> Test {
        Test::Below { bound: Scalar::Instant(self.start), inclusive: false }
    }

    /// Returns the test that an instant is on this day or earlier.
    pub(super) fn until(&self) -> Test {
        Test::Below { bound: Scalar::Instant(self.end), inclusive: false }
    }
}

/// Parses a calendar day in the protocol's only format.
fn day_of(text: &str) -> Option<NaiveDate> {
    has_format(Format::Date, text).then(|| text.parse().ok()).flatten()
}

/// Converts a float without a fraction to an integer, because some JSON writers write `3.0`.
#[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is small enough")]
fn whole_of(number: f64) -> Option<i128> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    (number.fract() == 0.0 && number.abs() <= SAFE).then_some(number as i128)
}
