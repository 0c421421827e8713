//! Converts the values of a database's rows into values of fields.

use chrono::{DateTime, Datelike as _, Duration, NaiveDate, Utc};
use mcp_aql_core::internal::vocab::hex;

use super::SqlError;
use super::context::StoredForm;
use super::dialect::{Dialect, Form, INSTANT_END, ordered_instant_text};
use super::value::SqlValue;
use crate::capture::widened;
use crate::columns::instant_of;
use crate::value::{Scalar, ValueKind};

/// A value of a row.
#[derive(Debug, PartialEq)]
pub(super) enum StoredValue {
    /// A value of the field's type.
    Usual(Scalar),
    /// The field's type does not allow the value, so probably another program has stored it. Contains the
    /// value as a string if the field's values are strings in JSON.
    Odd(Option<String>),
}

impl StoredValue {
    /// Converts the database's value of a field.
    ///
    /// # Errors
    ///
    /// Returns an error if the row has no such column.
    pub(super) fn of(stored: StoredForm, value: Option<&SqlValue>) -> Result<Self, SqlError> {
        let value = value.ok_or_else(|| SqlError::Column {
            path: stored.info.path.clone(),
            expected: "a value",
            found: "no column",
        })?;
        Ok(usual(stored, value).map_or_else(|| Self::Odd(odd_text(stored, value)), Self::Usual))
    }

    /// Returns the displayed value. A value not allowed by the field's type is displayed as a string, or is
    /// missing.
    pub(super) fn into_shown(self) -> Scalar {
        match self {
            Self::Usual(value) => value,
            Self::Odd(text) => text.map_or(Scalar::Null, Scalar::from),
        }
    }
}

/// Converts the database's value of a field, for a result that belongs to no single row.
pub(super) fn scalar(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    StoredValue::of(stored, value).map(StoredValue::into_shown)
}

/// Converts the value of a group.
///
/// Each value not allowed by the field's type gets a distinct name, because it has a group of its own:
///
/// ```text
/// the string many        → "many"
/// the bytes 0x00, 0xff   → x'00ff'
/// ```
pub(super) fn group_key(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    let name = match (StoredValue::of(stored, value)?, value) {
        (StoredValue::Odd(None), Some(SqlValue::Text(text))) => format!("\"{text}\""),
        (StoredValue::Odd(None), Some(SqlValue::Float(value))) => value.to_string(),
        (StoredValue::Odd(None), Some(SqlValue::Int(value))) => value.to_string(),
        (StoredValue::Odd(_), Some(SqlValue::Bytes(bytes) | SqlValue::RawText(bytes))) => {
            let digits: String = hex(bytes);
            format!("x'{digits}'")
        }
        (other, _) => return Ok(other.into_shown()),
    };
    Ok(Scalar::from(name))
}

/// Returns the value by which the database has sorted a row, for a cursor. It must be exact, because the next
/// page starts where a comparison with this value leads.
pub(super) fn sort_value(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    let usual = match StoredValue::of(stored, value)? {
        StoredValue::Usual(usual) if is_exact(stored, &usual, value) => return Ok(usual),
        // The row is sorted by its rank. All unknown names have the same rank.
        StoredValue::Odd(text)
            if stored.form == Form::Choice && !stored.info.choices.is_empty() =>
        {
            return Ok(Scalar::from(text.unwrap_or_default()));
        }
        other => other.into_shown(),
    };
    Ok(match value {
        Some(SqlValue::Int(value)) => exact(Scalar::Int((*value).into())),
        Some(SqlValue::Float(value)) => exact(Scalar::Float(*value)),
        Some(SqlValue::Text(text)) => exact(Scalar::from(text.clone())),
        Some(SqlValue::Bytes(bytes)) => exact(Scalar::Bytes(bytes.clone())),
        Some(SqlValue::RawText(bytes)) => exact(Scalar::RawText(bytes.clone())),
        Some(SqlValue::Null | SqlValue::Bool(_)) | None => usual,
    })
}

fn exact(value: Scalar) -> Scalar {
    Scalar::Stored(Box::new(value))
}

/// Returns `true` if a comparison with `usual` has the same result as a comparison with the stored value.
fn is_exact(stored: StoredForm, usual: &Scalar, value: Option<&SqlValue>) -> bool {
    match (usual, value, stored.form) {
        // Another program may have stored a number with more digits.
        (_, Some(SqlValue::Int(_) | SqlValue::Float(_)), Form::Number) if stored.info.single => {
            false
        }
        // A column of PostgreSQL may have any numeric type, also one with more digits than the field.
        (_, Some(SqlValue::Text(_)), Form::Number) => false,
        (Scalar::Int(usual), Some(SqlValue::Text(_)), Form::Integer) => {
            i64::try_from(*usual).is_ok()
        }
        (Scalar::Float(usual), Some(SqlValue::Float(value)), Form::Number) => usual == value,
        #[expect(clippy::cast_possible_truncation, reason = "it is compared with the original")]
        (Scalar::Float(usual), Some(SqlValue::Int(value)), Form::Number) => {
            usual.abs() < MAX_EXACT && *usual as i64 == *value
        }
        (Scalar::Date(date), Some(SqlValue::Text(text)), Form::DateText) => {
            date.to_string() == *text
        }
        (Scalar::Instant(instant), Some(SqlValue::Text(text)), Form::InstantText) => {
            ordered_instant_text(instant) == *text
        }
        _ => true,
    }
}

/// All integers up to 2⁵³ have an exact floating-point representation.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the value in the field's type, or `None` if the type does not allow it.
fn usual(stored: StoredForm, value: &SqlValue) -> Option<Scalar> {
    if matches!(value, SqlValue::Null) || stored.form == Form::Json {
        return Some(Scalar::Null);
    }
    match stored.dialect {
        Dialect::Sqlite => of_sqlite(stored, value),
        Dialect::Postgres => of_postgres(stored, value),
    }
}

fn of_sqlite(stored: StoredForm, value: &SqlValue) -> Option<Scalar> {
    match (stored.form, value) {
        (Form::Boolean, SqlValue::Int(value @ (0 | 1))) => Some(Scalar::Bool(*value == 1)),
        (Form::Integer, SqlValue::Int(value)) => Some(Scalar::Int((*value).into())),
        #[expect(clippy::cast_possible_truncation, reason = "it is a whole number")]
        (Form::Integer, SqlValue::Float(value)) => {
            let is_whole = value.fract() == 0.0 && value.abs() < MAX_EXACT;
            is_whole.then_some(Scalar::Int(*value as i128))
        }
        (Form::Number, SqlValue::Float(value)) => number(stored, *value),
        #[expect(clippy::cast_precision_loss, reason = "so the field holds it")]
        (Form::Number, SqlValue::Int(value)) => number(stored, *value as f64),
        (Form::Unix(unit), SqlValue::Int(value)) => instant(*value, unit),
        (_, SqlValue::Text(text)) => of_text(stored, text),
        _ => None,
    }
}

fn of_postgres(stored: StoredForm, value: &SqlValue) -> Option<Scalar> {
    let text = match value {
        SqlValue::Bool(value) => {
            return (stored.form == Form::Boolean).then_some(Scalar::Bool(*value));
        }
        SqlValue::Int(value) => {
            return (stored.form == Form::Boolean).then_some(Scalar::Bool(*value != 0));
        }
        SqlValue::Text(text) => text,
        SqlValue::Null | SqlValue::Float(_) | SqlValue::Bytes(_) | SqlValue::RawText(_) => {
            return None;
        }
    };
    match stored.form {
        Form::Integer => text.parse().ok().map(Scalar::Int),
        Form::Number => number(stored, text.parse().ok()?),
        Form::DateNative => {
            let days = Duration::try_days(text.parse().ok()?)?;
            NaiveDate::default().checked_add_signed(days).map(Scalar::Date)
        }
        Form::InstantNative => instant(text.parse().ok()?, 1_000),
        Form::Unix(unit) => instant(text.parse().ok()?, unit),
        _ => of_text(stored, text),
    }
}

/// Converts the string in a column.
fn of_text(stored: StoredForm, text: &str) -> Option<Scalar> {
    let choices = &stored.info.choices;
    match stored.form {
        Form::Choice
            if !choices.is_empty() && !choices.iter().any(|name| name.as_str() == text) =>
        {
            None
        }
        Form::Text | Form::Choice => Some(Scalar::from(text.to_owned())),
        // Other forms of a date are not allowed, because a comparison of strings would sort them incorrectly.
        Form::DateText => {
            let date: NaiveDate = text.parse().ok()?;
            // Strings with other years have a sign, so they do not sort by time.
            let is_sorted = (0..10_000).contains(&date.year());
            (is_sorted && date.to_string() == text).then_some(Scalar::Date(date))
        }
        // Other forms of an instant, such as one with an offset, are not allowed for the same reason. The
        // string may be the form used in comparisons, without the `Z` and trailing zeros: `2031-05-06T07:`.
        Form::InstantText => {
            let instant = instant_of(text).or_else(|| instant_of(&format!("{text:0<19}Z")))?;
            let is_compared = ordered_instant_text(&instant) == text.trim_end_matches(INSTANT_END);
            is_compared.then_some(Scalar::Instant(instant))
        }
        _ => None,
    }
}

/// Returns a number, or `None` for `NaN` and the infinities, because JSON cannot represent them.
fn number(stored: StoredForm, value: f64) -> Option<Scalar> {
    #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
    let value = if stored.info.single { widened(value as f32) } else { value };
    value.is_finite().then_some(Scalar::Float(value))
}

/// Returns the instant at this number of units since 1970. `unit` is in nanoseconds.
fn instant(count: i64, unit: i128) -> Option<Scalar> {
    const SECOND: i128 = 1_000_000_000;
    let all = i128::from(count) * unit;
    let seconds = i64::try_from(all.div_euclid(SECOND)).ok()?;
    let nanoseconds = u32::try_from(all.rem_euclid(SECOND)).ok()?;
    DateTime::<Utc>::from_timestamp(seconds, nanoseconds).map(Scalar::Instant)
}

/// Returns a value of another type as a string, if the field's values are strings in JSON.
fn odd_text(stored: StoredForm, value: &SqlValue) -> Option<String> {
    let kind = stored.info.kind;
    if !matches!(kind, ValueKind::Text | ValueKind::Choice | ValueKind::Date | ValueKind::Instant) {
        return None;
    }
    match value {
        SqlValue::Bool(value) => Some(value.to_string()),
        SqlValue::Int(value) => Some(value.to_string()),
        SqlValue::Float(value) => Some(value.to_string()),
        SqlValue::Text(text) => Some(text.clone()),
        SqlValue::Null | SqlValue::Bytes(_) | SqlValue::RawText(_) => None,
    }
}
