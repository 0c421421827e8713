//! The parsers for the constraint `format`.

use base64::Engine as _;
use mcp_aql_protocol::Format;

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
        Format::Date => {
            text.len() == 10 && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
        }
        Format::DateTime => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
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
