//! Constraints on values. Validation and introspection read the same tables, so they cannot differ.

mod format;

use std::cmp::Ordering;

use serde_json::Value;

pub use format::has_format;
pub use mcp_aql_protocol::Format;

/// A bound of a number, exact for every integer type of Rust up to 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
}

impl Bound {
    /// Converts a JSON number.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match (value.as_i64(), value.as_u64()) {
            (Some(whole), _) => Some(whole.into()),
            (_, Some(whole)) => Some(whole.into()),
            _ => value.as_f64().map(Self::Float),
        }
    }

    /// Compares two numbers exactly, even if one is an integer and the other a float. Returns
    /// `None` for NaN.
    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(&right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Int(whole), Self::Float(float)) => compare(whole, float),
            (Self::Float(float), Self::Int(whole)) => compare(whole, float).map(Ordering::reverse),
        }
    }
}

/// Compares an integer with a float. Beyond 2^53 several integers round to the same float, so the
/// float is converted to an integer.
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

/// A JSON scalar of an `enum` constraint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EnumValue {
    /// Text.
    Str(&'static str),
    /// A number.
    Number(Bound),
    /// `true` or `false`.
    Bool(bool),
}

/// One constraint of a parameter or field, as the macros write it into the operation's table.
///
/// Source: REQ-RQ-11, REQ-INT-13.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// The number is this or more.
    Minimum(Bound),
    /// The number is this or less.
    Maximum(Bound),
    /// The text has this many characters (Unicode scalar values) or more.
    MinLength(usize),
    /// The text has this many characters (Unicode scalar values) or fewer.
    MaxLength(usize),
    /// The text matches this regular expression somewhere; anchor it with `^` and `$`.
    Pattern(&'static str),
    /// The text has this form.
    Format(Format),
    /// The value is one of these.
    Enum(&'static [EnumValue]),
    /// The list has this many elements or more.
    MinItems(usize),
    /// The list has this many elements or fewer.
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
