//! Values of fields independent of their Rust types: operands of requests, contents of cursors, results of
//! databases.

use std::borrow::Cow;
use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// One value of a field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// The value is missing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number. It is never NaN.
    Float(f64),
    /// A string, or the name of a choice.
    Text(Cow<'static, str>),
    /// A calendar day.
    Date(NaiveDate),
    /// A point in time.
    Instant(DateTime<Utc>),
    /// Bytes. Only SQLite can return them, because its columns can contain values of every type.
    Bytes(Vec<u8>),
    /// A string of SQLite with invalid UTF-8.
    RawText(Vec<u8>),
    /// A value exactly as a database sorts by it, for a cursor. It is used if the field's type cannot
    /// represent the value: NaN, a number with 30 digits, or any string in a date column.
    Stored(Box<Scalar>),
}

/// The kind of a field's values. It determines the operators of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// Strings.
    Text,
    /// One of a few names, ordered by declaration.
    Choice,
    /// Calendar days, `2031-05-06`.
    Date,
    /// Points in time, `2031-05-06T07:00:00Z`.
    Instant,
    /// Any other value. It can only be selected.
    Json,
}

impl ValueKind {
    /// Returns `true` if the values can be added.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }

    /// Returns `true` if the values are ordered.
    pub const fn is_ordered(self) -> bool {
        !matches!(self, Self::Boolean | Self::Json)
    }
}

impl Scalar {
    /// Returns `true` if the value is missing.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Compares two values of one field. Values of different kinds are never compared.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::Date(left), Self::Date(right)) => left.cmp(right),
            (Self::Instant(left), Self::Instant(right)) => left.cmp(right),
            _ => Ordering::Equal,
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => serializer.serialize_i64(value),
                (_, Ok(value)) => serializer.serialize_u64(value),
                // The sum does not fit into 64 bits, so it is serialized as a string (REQ-ENC-05).
                _ => serializer.collect_str(value),
            },
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Date(date) => serializer.collect_str(date),
            Self::Instant(instant) => serializer.serialize_str(&instant_text(instant)),
            Self::Bytes(_) | Self::RawText(_) => serializer.serialize_none(),
            Self::Stored(value) => value.serialize(serializer),
        }
    }
}

/// Formats an instant in the format of `DateTime<Utc>`.
pub(crate) fn instant_text(instant: &DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

impl From<&'static str> for Scalar {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Scalar {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}
