//! The formats of string parameters.

/// A string format that you name with `format = "…"` and that the runtime validates.
///
/// ```
/// use mcp_aql_protocol::Format;
///
/// assert_eq!(Format::from_name("date-time"), Some(Format::DateTime));
/// assert_eq!(Format::Date.example(), "2031-05-06");
/// ```
///
/// Source: REQ-INT-13, MCP-AQL §4.7.2, §4.7.4 (REQ-ENC-03, REQ-ENC-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A calendar day such as `2031-05-06`. It has no time zone: the day is meant in the zone of the adapter's user.
    Date,
    /// An instant such as `2031-05-06T07:08:09Z`, in UTC or with an offset such as `+05:30`.
    DateTime,
    /// A time of day such as `07:08:09`.
    Time,
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A hyphenated UUID.
    Uuid,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Binary data as padded base64 (RFC 4648).
    Byte,
}

impl Format {
    /// All formats, in alphabetical order of their names.
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

    /// Returns the name used in `format = "…"` and in introspection.
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

    /// Returns the format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    /// Returns a valid value, for generated examples and for error messages.
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
}
