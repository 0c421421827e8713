//! Constraints on values. Validation and introspection read the same tables, so they always agree.

mod format;

use std::cmp::Ordering;

use serde_json::Value;

pub use format::has_format;
pub use mcp_aql_protocol::Format;

/// A bound of a number. It is exact for all integer types of Rust up to 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// An integer.
    Int(i128),
    /// Any other number.
    Float(f64),
}

impl Bound {
    /// Converts a JSON number. Returns `None` for other values.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match (value.as_i64(), value.as_u64()) {
            (Some(whole), _) => Some(whole.into()),
            (_, Some(whole)) => Some(whole.into()),
            _ => value.as_f64().map(Self::Float),
        }
    }

    /// Compares two numbers exactly, even an integer with a float. Returns `None` for NaN.
    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(&right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Int(whole), Self::Float(float)) => compare(whole, float),
            (Self::Float(float), Self::Int(whole)) => compare(whole, float).map(Ordering::reverse),
        }
    }
}

/// Compares an integer with a float. Beyond 2^53, several integers round to the same float, so the float is converted
/// to an integer and not the other way round.
fn compare(whole: i128, float: f64) -> Option<Ordering> {
    /// 2^127, the first number beyond `i128::MAX`.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float >= END {
        return Some(Ordering::Less);
    }
    if float < -END {
        return Some(Ordering::Greater);
    }
    #[expect(clippy::cast_possible_truncation, reason = "its fraction is compared after that")]
    let truncated = float.trunc() as i128;
    Some(whole.cmp(&truncated).then(0.0.partial_cmp(&float.fract())?))
}

macro_rules! whole {
    ($($number:ty)*) => {$(
        impl From<$number> for Bound {
            fn from(number: $number) -> Self {
                Self::Int(number.into())
            }
        }
    )*};
}

whole!(i8 i16 i32 i64 u8 u16 u32 u64);

impl From<f32> for Bound {
    fn from(number: f32) -> Self {
        Self::Float(number.into())
    }
}

impl From<f64> for Bound {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

/// A JSON scalar in an `enum` constraint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EnumValue {
    /// A string.
    Str(&'static str),
    /// A number.
    Number(Bound),
    /// `true` or `false`.
    Bool(bool),
}

/// A constraint of a parameter or a field, as written by the macros into the operation's table.
///
/// ```text
/// #[param(minimum = 1, maximum = 5)]
/// → [Constraint::Minimum(Bound::Int(1)), Constraint::Maximum(Bound::Int(5))]
/// ```
///
/// Source: REQ-RQ-11, REQ-INT-13.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// Minimum of a number, inclusive.
    Minimum(Bound),
    /// Maximum of a number, inclusive.
    Maximum(Bound),
    /// Minimum length of a string in characters (Unicode scalar values).
    MinLength(usize),
    /// Maximum length of a string in characters (Unicode scalar values).
    MaxLength(usize),
    /// A regular expression that matches any part of the string. Anchor it with `^` and `$` to match the whole string.
    Pattern(&'static str),
    /// Format of a string.
    Format(Format),
    /// The allowed values.
    Enum(&'static [EnumValue]),
    /// Minimum number of elements of a list.
    MinItems(usize),
    /// Maximum number of elements of a list.
    MaxItems(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_kinds_are_compared_exactly() {
        const LARGE: i64 = 9_007_199_254_740_992;
        let whole = |number: i64| Bound::from(number);
        for (left, right, expected) in [
            (whole(LARGE + 1), Bound::from(LARGE as f64), Some(Ordering::Greater)),
            (whole(LARGE), Bound::from(LARGE as f64), Some(Ordering::Equal)),
            (whole(-LARGE - 1), Bound::from(-LARGE as f64), Some(Ordering::Less)),
            (whole(i64::MAX), Bound::from(i64::MAX as f64), Some(Ordering::Less)),
            (Bound::from(u64::MAX), Bound::from(u64::MAX as f64), Some(Ordering::Less)),
            (whole(3), Bound::from(3.5), Some(Ordering::Less)),
            (whole(-3), Bound::from(-3.5), Some(Ordering::Greater)),
            (whole(0), Bound::from(-0.0), Some(Ordering::Equal)),
            (whole(0), Bound::from(-0.5), Some(Ordering::Greater)),
            (Bound::from(0.5), Bound::from(0.25), Some(Ordering::Greater)),
            (Bound::from(u64::MAX), Bound::from(f64::INFINITY), Some(Ordering::Less)),
            (whole(i64::MIN), Bound::from(f64::NEG_INFINITY), Some(Ordering::Greater)),
            (whole(1), Bound::from(1e300), Some(Ordering::Less)),
            (whole(1), Bound::from(f64::NAN), None),
        ] {
            assert_eq!(left.compare(right), expected, "{left:?} {right:?}");
            assert_eq!(right.compare(left), expected.map(Ordering::reverse), "{right:?} {left:?}");
        }
    }
}
