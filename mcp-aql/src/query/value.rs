//! Values of fields outside of their Rust types: what a request compares with, what a cursor holds,
//! what a database gives.

use std::borrow::Cow;
use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// One value of a field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// There is none.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number; never NaN.
    Float(f64),
    /// Text, or the name of a choice.
    Text(Cow<'static, str>),
    /// A calendar day.
    Date(NaiveDate),
    /// A point in time.
    Instant(DateTime<Utc>),
}

/// What kind of values a field has, which settles its operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// Text.
    Text,
    /// One of a few names; ordered as they are declared.
    Choice,
    /// Calendar days, `2031-05-06`.
    Date,
    /// Points in time, `2031-05-06T07:00:00Z`.
    Instant,
    /// Anything else: it can be selected, and that is all.
    Json,
}

impl ValueKind {
    /// Whether `sum` and `avg` make sense.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }

    /// Whether one value can come before another.
    pub const fn is_ordered(self) -> bool {
        !matches!(self, Self::Boolean | Self::Json)
    }
}

impl Scalar {
    /// Whether there is no value.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The order of two values of one field; values of different kinds never
    /// meet.
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
                // No JSON reader has room for such a sum: it travels as text (REQ-ENC-05).
                _ => serializer.collect_str(value),
            },
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Date(date) => serializer.collect_str(date),
            Self::Instant(instant) => serializer.serialize_str(&instant_text(instant)),
        }
    }
}

/// An instant as `DateTime<Utc>` writes itself.
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
