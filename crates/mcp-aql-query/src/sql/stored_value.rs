//! Converts the values of a database's rows into those of fields.

use chrono::{DateTime, Duration, NaiveDate, Utc};
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
    /// Another value, which a foreign program may have stored: its text, if the field's type is one of texts.
    Odd(Option<String>),
}

impl StoredValue {
    /// Converts the database's value of a field.
    ///
    /// # Errors
    /// If the row has no such column.
    pub(super) fn of(stored: StoredForm, value: Option<&SqlValue>) -> Result<Self, SqlError> {
        let value = value.ok_or_else(|| SqlError::Column {
            path: stored.info.path.clone(),
            expected: "a value",
            found: "no column",
        })?;
        Ok(usual(stored, value).map_or_else(|| Self::Odd(odd_text(stored, value)), Self::Usual))
    }

    /// The value as it is shown. One that the field's type does not allow is missing.
    pub(super) fn into_shown(self) -> Scalar {
        match self {
            Self::Usual(value) => value,
            Self::Odd(text) => text.map_or(Scalar::Null, Scalar::from),
        }
    }
}

/// Converts the database's value of a field for a result that has no row.
pub(super) fn scalar(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    StoredValue::of(stored, value).map(StoredValue::into_shown)
}

/// Converts the value of a group. One that the field's type does not allow has a name of its own: `"many"`, `x'00ff'`.
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

/// The value by which the database has sorted a row, so exactly that a comparison with it finds the same place.
pub(super) fn sort_value(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    let usual = match StoredValue::of(stored, value)? {
        StoredValue::Usual(usual) if is_exact(stored, &usual, value) => return Ok(usual),
        // Sorted by its rank, which all unknown names share.
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

/// Whether a comparison with the value compares with what is stored.
fn is_exact(stored: StoredForm, usual: &Scalar, value: Option<&SqlValue>) -> bool {
    match (usual, value, stored.form) {
        // Another program may have stored a number with more digits.
        (_, Some(SqlValue::Int(_) | SqlValue::Float(_)), Form::Number) if stored.info.single => {
            false
        }
        // A column of PostgreSQL may have any of its types of numbers.
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

/// The integers up to here have an exact floating-point number.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The value in the field's type.
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

/// The value of a column that contains text.
fn of_text(stored: StoredForm, text: &str) -> Option<Scalar> {
    let choices = &stored.info.choices;
    match stored.form {
        Form::Choice
            if !choices.is_empty() && !choices.iter().any(|name| name.as_str() == text) =>
        {
            None
        }
        Form::Text | Form::Choice => Some(Scalar::from(text.to_owned())),
        // Any other form of a date would be compared as another text.
        Form::DateText => {
            let date: NaiveDate = text.parse().ok()?;
            (date.to_string() == text).then_some(Scalar::Date(date))
        }
        // Any other form of an instant, such as one with an offset, would be compared as another text. The text as it is
        // compared has neither `Z` nor the zeros at the end.
        Form::InstantText => {
            let instant = instant_of(text).or_else(|| instant_of(&format!("{text:0<19}Z")))?;
            let is_compared = ordered_instant_text(&instant) == text.trim_end_matches(INSTANT_END);
            is_compared.then_some(Scalar::Instant(instant))
        }
        _ => None,
    }
}

/// A number, unless JSON has none for it.
fn number(stored: StoredForm, value: f64) -> Option<Scalar> {
    #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
    let value = if stored.info.single { widened(value as f32) } else { value };
    value.is_finite().then_some(Scalar::Float(value))
}

/// The instant at this number of units since 1970; `unit` is in nanoseconds.
fn instant(count: i64, unit: i128) -> Option<Scalar> {
    const SECOND: i128 = 1_000_000_000;
    let all = i128::from(count) * unit;
    let seconds = i64::try_from(all.div_euclid(SECOND)).ok()?;
    let nanoseconds = u32::try_from(all.rem_euclid(SECOND)).ok()?;
    DateTime::<Utc>::from_timestamp(seconds, nanoseconds).map(Scalar::Instant)
}

/// The text of a value that has another type than the field, if the field contains texts.
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
