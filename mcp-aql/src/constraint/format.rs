use base64::Engine as _;

/// A form of text that `format = "…"` names and checks.
///
/// ```
/// use mcp_aql::constraint::Format;
///
/// assert!(Format::Date.accepts("2031-05-06"));
/// assert!(!Format::Date.accepts("6 May 2031"));
/// ```
///
/// Source: REQ-INT-13, MCP-AQL §4.7.2, §4.7.4 (REQ-ENC-03, REQ-ENC-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A calendar day, `2031-05-06`. It has no time zone: it means that day wherever the adapter's
    /// user is.
    Date,
    /// An instant, `2031-05-06T07:08:09Z` or with an offset such as `+05:30`.
    DateTime,
    /// A time of day, `07:08:09`.
    Time,
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A UUID in its hyphenated form.
    Uuid,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Binary data as padded base64 (RFC 4648).
    Byte,
}

impl Format {
    /// Every format, in alphabetical order of the names.
    pub const ALL: &'static [Self] = &[
        Self::Byte,
        Self::Date,
        Self::DateTime,
        Self::Email,
        Self::Ipv4,
        Self::Ipv6,
        Self::Time,
        Self::Uri,
        Self::Uuid,
    ];

    /// The name in `format` and in introspection.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Time => "time",
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Uuid => "uuid",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Byte => "byte",
        }
    }

    /// The format of this name, if it is one of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    /// Text of this form, for generated examples and for error messages.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Date => "2031-05-06",
            Self::DateTime => "2031-05-06T07:08:09Z",
            Self::Time => "07:08:09",
            Self::Email => "ada@example.org",
            Self::Uri => "https://example.org/a",
            Self::Uuid => "67e55044-10b1-426f-9247-bb680e5fe0c8",
            Self::Ipv4 => "192.0.2.1",
            Self::Ipv6 => "2001:db8::1",
            Self::Byte => "SGVsbG8=",
        }
    }

    /// Whether `text` has this form.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::Date => {
                text.len() == 10 && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
            }
            Self::DateTime => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
            Self::Time => chrono::NaiveTime::parse_from_str(text, "%H:%M:%S%.f").is_ok(),
            Self::Email => email_address::EmailAddress::is_valid(text),
            Self::Uri => iri_string::types::UriStr::new(text).is_ok(),
            Self::Uuid => text.len() == 36 && uuid::Uuid::try_parse(text).is_ok(),
            Self::Ipv4 => text.parse::<std::net::Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<std::net::Ipv6Addr>().is_ok(),
            Self::Byte => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_their_example_and_refuse_others() {
        for &format in Format::ALL {
            assert!(format.accepts(format.example()), "{}", format.as_str());
            assert!(!format.accepts("no such thing!"), "{}", format.as_str());
            // No bytes at all are valid base64.
            assert_eq!(format.accepts(""), format == Format::Byte, "{}", format.as_str());
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
            assert_eq!(Format::Date.accepts(text), date, "{text}");
            assert_eq!(Format::DateTime.accepts(text), instant, "{text}");
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
            assert_eq!(Format::Uri.accepts(text), uri, "{text}");
        }
    }

    #[test]
    fn binary_is_padded_base64() {
        // REQ-ENC-06
        assert!(Format::Byte.accepts("SGVsbG8="));
        assert!(!Format::Byte.accepts("SGVsbG8"));
    }
}
