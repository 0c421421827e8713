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

    /// Compares two values of one field. It is a total order, because a database may contain values of
    /// several kinds.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bytes(left), Self::Bytes(right))
            | (Self::RawText(left), Self::RawText(right)) => left.cmp(right),
            (Self::Stored(left), Self::Stored(right)) => left.order(right),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::Date(left), Self::Date(right)) => left.cmp(right),
            (Self::Instant(left), Self::Instant(right)) => left.cmp(right),
            _ => self.kind_rank().cmp(&other.kind_rank()),
        }
    }

    /// Returns the rank of the kind of the value among all kinds.
    const fn kind_rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) => 2,
            Self::Float(_) => 3,
            Self::Date(_) => 4,
            Self::Instant(_) => 5,
            Self::Text(_) => 6,
            Self::RawText(_) => 7,
            Self::Bytes(_) => 8,
            Self::Stored(_) => 9,
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

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::Scalar;

    fn scalars() -> impl Strategy<Value = Scalar> {
        let plain = prop_oneof![
            Just(Scalar::Null),
            any::<bool>().prop_map(Scalar::Bool),
            (-2_i128..3).prop_map(Scalar::Int),
            prop::sample::select(vec![-1.5, -0.0, 0.0, 2.0]).prop_map(Scalar::Float),
            "[ab]{0,1}".prop_map(Scalar::from),
            prop::sample::select(vec!["2031-05-06", "2031-05-07"])
                .prop_map(|text| Scalar::Date(text.parse().unwrap())),
            (0_i64..2).prop_map(|seconds| {
                Scalar::Instant(chrono::DateTime::from_timestamp(seconds, 0).unwrap())
            }),
            prop::collection::vec(0_u8..2, 0..2).prop_map(Scalar::Bytes),
            prop::collection::vec(0_u8..2, 0..2).prop_map(Scalar::RawText),
        ];
        plain.prop_flat_map(|plain| {
            let stored = Scalar::Stored(Box::new(plain.clone()));
            prop::sample::select(vec![plain, stored])
        })
    }

    proptest! {
        #[test]
        fn values_of_all_kinds_have_a_total_order(a in scalars(), b in scalars(), c in scalars()) {
            prop_assert_eq!(a.order(&b), b.order(&a).reverse());
            prop_assert_eq!(a.order(&a), Ordering::Equal);
            if a.order(&b).is_le() && b.order(&c).is_le() {
                prop_assert!(a.order(&c).is_le());
            }
            if a.order(&b).is_eq() {
                prop_assert_eq!(a.order(&c), b.order(&c));
            }
        }
    }
}
