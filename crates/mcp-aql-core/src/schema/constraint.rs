//! Constraints on values. Validation and introspection read the same tables, so they always agree.

use std::cmp::Ordering;

use base64::Engine as _;
pub use mcp_aql_protocol::Format;
use serde_json::Value;

use super::instant::unsupported_instant;

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

    /// Parses a number in a string: the forms that the types `BigInteger` and `Decimal` have in JSON.
    pub(crate) fn in_text(text: &str) -> Option<Self> {
        text.parse().map(Self::Int).ok().or_else(|| {
            let number = text.parse::<f64>().ok()?;
            number.is_finite().then_some(Self::Float(number))
        })
    }

    /// Returns the nearest float.
    #[expect(clippy::cast_precision_loss, reason = "callers need no exact value")]
    pub(crate) fn to_float(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
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

/// Returns `true` if a string has this format (REQ-INT-13, REQ-ENC-03, REQ-ENC-06).
///
/// ```
/// use mcp_aql_core::constraint::{Format, has_format};
///
/// assert!(has_format(Format::Date, "2031-05-06"));
/// assert!(!has_format(Format::Date, "2031-02-30"));
/// ```
pub fn has_format(format: Format, text: &str) -> bool {
    match format {
        // The comparison rejects signs and spaces, because `chrono` parses `-999-01-01`, too.
        Format::Date => {
            let date = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d");
            text.len() == 10 && date.is_ok_and(|date| date.to_string() == text)
        }
        Format::DateTime => chrono::DateTime::parse_from_rfc3339(text)
            .is_ok_and(|at| unsupported_instant(&at.to_utc()).is_none()),
        Format::Time => chrono::NaiveTime::parse_from_str(text, "%H:%M:%S%.f").is_ok(),
        Format::Email => email_address::EmailAddress::is_valid(text),
        Format::Uri => iri_string::types::UriStr::new(text).is_ok(),
        Format::Uuid => text.len() == 36 && uuid::Uuid::try_parse(text).is_ok(),
        Format::Ipv4 => text.parse::<std::net::Ipv4Addr>().is_ok(),
        Format::Ipv6 => text.parse::<std::net::Ipv6Addr>().is_ok(),
        Format::Byte => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        // `Format` is non-exhaustive. If you add a format, add its parser here.
        _ => false,
    }
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

    #[test]
    fn formats_accept_their_example_and_refuse_others() {
        for &format in Format::ALL {
            assert!(has_format(format, format.example()), "{}", format.as_str());
            assert!(!has_format(format, "no such thing!"), "{}", format.as_str());
            // The empty string is valid base64.
            assert_eq!(has_format(format, ""), format == Format::Byte, "{}", format.as_str());
            assert_eq!(Format::from_name(format.as_str()), Some(format));
        }
    }

    #[test]
    fn dates_are_iso_8601() {
        // REQ-ENC-03
        for (text, date, instant) in [
            ("2031-05-06", true, false),
            ("2031-02-30", false, false),
            ("2031-5-6", false, false),
            ("2031-05-06T07:08:09Z", false, true),
            ("2031-05-06T07:08:09+05:30", false, true),
            ("2031-05-06T07:08:09", false, false),
            ("-999-01-01", false, false),
            ("2031- 5- 6", false, false),
            ("0000-01-01T00:00:00Z", false, true),
            ("9999-12-31T23:59:59.999999999Z", false, true),
            ("0000-01-01T00:00:00+12:00", false, false),
            ("9999-12-31T23:59:59-12:00", false, false),
            ("2016-12-31T23:59:60Z", false, false),
        ] {
            assert_eq!(has_format(Format::Date, text), date, "{text}");
            assert_eq!(has_format(Format::DateTime, text), instant, "{text}");
        }
    }

    #[test]
    fn uris_are_absolute() {
        for (text, uri) in [
            ("https://user@example.org:8443/a/b?q=1&r=%20#top", true),
            ("HTTP://[2001:db8::1]:80/", true),
            ("http://example.org", true),
            ("mailto:ada@example.org", true),
            ("urn:isbn:0451450523", true),
            ("file:///etc/hosts", true),
            ("tel:+1-816-555-1212", true),
            ("a:", true),
            ("/a/b", false),
            ("//example.org/a", false),
            ("example.org", false),
            ("1a:b", false),
            ("http://example.org/a b", false),
            ("http://example.org/%2", false),
            ("http://example.org/%zz", false),
            ("http://example.org/\u{e9}", false),
            ("http://[2001:db8::1/", false),
            ("http://[::ffff:999.0.0.1]/", false),
            ("http://example.org:port/", false),
            ("http://example.org/#a#b", false),
            ("http://example.org/\n", false),
            (" http://example.org/", false),
            ("http://a@b@example.org/", false),
            ("http://example.org/<a>", false),
            ("http://example.org/\\a", false),
        ] {
            assert_eq!(has_format(Format::Uri, text), uri, "{text}");
        }
    }

    #[test]
    fn binary_is_padded_base64() {
        // REQ-ENC-06
        assert!(has_format(Format::Byte, "SGVsbG8="));
        assert!(!has_format(Format::Byte, "SGVsbG8"));
    }
}
