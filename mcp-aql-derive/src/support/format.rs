//! Checks values against `format` at compile time, without a parser for each format, and validates calendar dates.

use mcp_aql_protocol::Format;

/// Returns `true` if `text` certainly violates `format`. If you add a format, add an arm here: a test checks that each
/// format has one.
///
/// `false` means that the value may still be invalid. The build of the adapter checks every default and example with
/// real parsers.
pub(crate) fn certainly_lacks(format: Format, text: &str) -> bool {
    match format {
        Format::Date => !is_date(text),
        Format::DateTime => !text.get(..10).is_some_and(is_date) || text.len() < 20,
        Format::Email => !text.contains('@'),
        Format::Ipv4 => text.parse::<std::net::Ipv4Addr>().is_err(),
        Format::Ipv6 => text.parse::<std::net::Ipv6Addr>().is_err(),
        Format::Time => text.len() < 8 || !text.starts_with(|first: char| first.is_ascii_digit()),
        Format::Uri => !text.contains(':'),
        Format::Uuid => {
            text.len() != 36 || !text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        }
        Format::Byte => !text.len().is_multiple_of(4),
        _ => false,
    }
}

/// The message for a date that does not exist. An example follows it.
pub(crate) const NO_DAY: &str = "is not a valid date: write one in the form";

/// Returns `true` if `text` is an existing date in the form `YYYY-MM-DD`.
pub(crate) fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut part = |width: usize| {
        let digits = parts.next()?;
        let plain = digits.len() == width && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse::<u32>().ok() } else { None }
    };
    let (Some(year), Some(month), Some(day)) = (part(4), part(2), part(2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    parts.next().is_none() && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_without_the_form_is_refused() {
        for &format in Format::ALL {
            assert!(!certainly_lacks(format, format.example()), "{}", format.example());
            assert!(certainly_lacks(format, "no such thing"), "{}", format.as_str());
        }
    }

    #[test]
    fn only_days_that_exist_are_dates() {
        for (text, expected) in [
            ("2031-05-06", true),
            ("2028-02-29", true),
            ("2031-02-29", false),
            ("2031-13-01", false),
            ("2031-5-6", false),
            ("2031-05-06-07", false),
            ("next year", false),
            ("", false),
        ] {
            assert_eq!(is_date(text), expected, "{text}");
        }
    }
}
