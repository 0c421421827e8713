//! The forms of text that `format = "…"` names. The runtime's `Format` has the same list; a test in
//! `tests/` holds the two equal.

use super::date::is_date;

/// A name, the variant of the runtime's `Format`, and an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) variant: &'static str,
    /// Text of this form, to be suggested.
    pub(crate) example: &'static str,
}

pub(crate) const FORMATS: [Format; 9] = [
    Format { name: "byte", variant: "Byte", example: "SGVsbG8=" },
    Format { name: "date", variant: "Date", example: "2031-05-06" },
    Format { name: "date-time", variant: "DateTime", example: "2031-05-06T07:08:09Z" },
    Format { name: "email", variant: "Email", example: "ada@example.org" },
    Format { name: "ipv4", variant: "Ipv4", example: "192.0.2.1" },
    Format { name: "ipv6", variant: "Ipv6", example: "2001:db8::1" },
    Format { name: "time", variant: "Time", example: "07:08:09Z" },
    Format { name: "uri", variant: "Uri", example: "https://example.org/a" },
    Format { name: "uuid", variant: "Uuid", example: "67e55044-10b1-426f-9247-bb680e5fe0c8" },
];

impl Format {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.name == name)
    }

    /// Whether `text` certainly lacks this form. Forms that need a parser of their own are left to
    /// the adapter's start, which checks every default and example.
    pub(crate) fn refuses(self, text: &str) -> bool {
        match self.name {
            "date" => !is_date(text),
            "date-time" => !text.get(..10).is_some_and(is_date) || text.len() < 20,
            "email" => !text.contains('@'),
            "ipv4" => text.parse::<std::net::Ipv4Addr>().is_err(),
            "ipv6" => text.parse::<std::net::Ipv6Addr>().is_err(),
            "time" => text.len() < 8 || !text.starts_with(|first: char| first.is_ascii_digit()),
            "uri" => !text.contains(':'),
            "uuid" => {
                text.len() != 36
                    || !text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
            }
            _ => !text.len().is_multiple_of(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_without_the_form_is_refused() {
        for format in FORMATS {
            assert!(!format.refuses(format.example), "{}", format.example);
            assert!(format.refuses("no such thing"), "{}", format.name);
        }
    }
}
