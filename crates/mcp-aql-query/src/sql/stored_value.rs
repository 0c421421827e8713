//! Converts the values of a database's rows into those of fields.

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::SqlError;
use super::context::StoredForm;
use super::dialect::Form;
use super::value::SqlValue;
use crate::capture::{float, widened};
use crate::columns::instant_of;
use crate::value::Scalar;

/// Converts the database's value of a field.
pub(super) fn scalar(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    let text = |text: &str| Scalar::from(text.to_owned());
    let (expected, found) = match (stored.form, value) {
        (_, Some(SqlValue::Null)) | (Form::Json, _) => return Ok(Scalar::Null),
        (Form::Boolean, Some(SqlValue::Bool(value))) => return Ok(Scalar::Bool(*value)),
        (Form::Boolean, Some(SqlValue::Int(value))) => return Ok(Scalar::Bool(*value != 0)),
        (Form::Boolean, _) => ("a boolean", None),
        (Form::Integer, Some(SqlValue::Int(value))) => return Ok(Scalar::Int((*value).into())),
        (Form::Integer, _) => ("a whole number", None),
        #[expect(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
        (Form::Number, Some(SqlValue::Float(value))) if stored.info.single => {
            return Ok(float(widened(*value as f32)));
        }
        (Form::Number, Some(SqlValue::Float(value))) => return Ok(float(*value)),
        #[expect(clippy::cast_precision_loss, reason = "so the field holds it")]
        (Form::Number, Some(SqlValue::Int(value))) => return Ok(float(*value as f64)),
        (Form::Number, _) => ("a number", None),
        (Form::Text | Form::Choice, Some(SqlValue::Text(value))) => return Ok(text(value)),
        (Form::Text | Form::Choice, _) => ("text", None),
        (Form::DateText, Some(SqlValue::Text(value))) => match value.parse() {
            Ok(date) => return Ok(Scalar::Date(date)),
            Err(_) => ("a date", Some("other text")),
        },
        (Form::DateText | Form::DateNative, Some(SqlValue::Int(days)))
            if stored.form == Form::DateNative =>
        {
            let days = Duration::try_days(*days);
            match days.and_then(|days| NaiveDate::default().checked_add_signed(days)) {
                Some(date) => return Ok(Scalar::Date(date)),
                None => ("a date", Some("one beyond all calendars")),
            }
        }
        (Form::DateText | Form::DateNative, _) => ("a date", None),
        (Form::InstantText, Some(SqlValue::Text(value))) => {
            // An aggregate returns it as it is compared.
            match instant_of(value).or_else(|| instant_of(&format!("{value}Z"))) {
                Some(instant) => return Ok(Scalar::Instant(instant)),
                None => ("an instant", Some("other text")),
            }
        }
        (Form::InstantNative, Some(SqlValue::Int(value))) => match instant(*value, 1_000) {
            Some(instant) => return Ok(Scalar::Instant(instant)),
            None => ("an instant", Some("one beyond all calendars")),
        },
        (Form::Unix(unit), Some(SqlValue::Int(value))) => match instant(*value, unit) {
            Some(instant) => return Ok(Scalar::Instant(instant)),
            None => ("an instant", Some("one beyond all calendars")),
        },
        (Form::InstantText | Form::InstantNative | Form::Unix(_), _) => ("an instant", None),
    };
    let found = found.unwrap_or_else(|| value.map_or("no column", SqlValue::kind));
    Err(SqlError::Column { path: stored.info.path.clone(), expected, found })
}

/// The instant at this number of units since 1970; `unit` is in nanoseconds.
fn instant(count: i64, unit: i128) -> Option<DateTime<Utc>> {
    const SECOND: i128 = 1_000_000_000;
    let all = i128::from(count) * unit;
    let seconds = i64::try_from(all.div_euclid(SECOND)).ok()?;
    DateTime::from_timestamp(seconds, u32::try_from(all.rem_euclid(SECOND)).ok()?)
}
