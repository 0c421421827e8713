//! Checks values against `format` at compile time, without a parser for each format.

use mcp_aql_protocol::Format;

use super::date::is_date;

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
}
