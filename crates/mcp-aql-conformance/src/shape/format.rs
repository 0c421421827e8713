//! Generates strings in the formats of JSON Schema, and strings that violate them.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate};
use regex::Regex;

pub(super) fn in_format(format: &str, turn: usize) -> Option<String> {
    Some(match format {
        "date" => format!("2031-05-{:02}", turn % 28 + 1),
        "date-time" => format!("2031-05-06T07:08:{:02}Z", turn % 60),
        "email" => format!("conformance{turn}@example.com"),
        "uri" | "url" => format!("https://example.com/conformance/{turn}"),
        "uuid" => format!("6f1c1b1e-7d2a-4c4e-9a53-{turn:012x}"),
        "byte" | "base64" => "Y29uZm9ybWFuY2U=".to_owned(),
        "time" => format!("07:08:{:02}Z", turn % 60),
        "duration" => format!("PT{}M", turn % 60 + 1),
        "hostname" => "example.com".to_owned(),
        "ipv4" => "192.0.2.1".to_owned(),
        "ipv6" => "2001:db8::1".to_owned(),
        _ => return None,
    })
}

/// Returns strings that violate this format in all of its variants.
pub(super) fn not_in_format(format: &str) -> &'static [&'static str] {
    match format {
        "date" => &["no date", "2031-02-30"],
        "date-time" => &["no instant", "2031-13-06T07:08:09Z"],
        "email" => &["no email"],
        "uri" | "url" => &["no uri"],
        "uuid" => &["no uuid"],
        "byte" | "base64" => &["%%%%"],
        "time" => &["no time", "07:61:09Z"],
        "ipv4" => &["no address", "192.0.2.256"],
        "ipv6" => &["no address", "2001:db8::g"],
        _ => &[],
    }
}

pub(super) fn is_in_format(format: &str, text: &str) -> bool {
    static URI: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$").ok());
    static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$").ok()
    });
    static BASE64: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$").ok()
    });
    // JSON Schema requires the offset from UTC, but times of day often have none.
    static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$").ok()
    });
    let is = |regex: &Option<Regex>| regex.as_ref().is_none_or(|regex| regex.is_match(text));
    match format {
        "date" => text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok(),
        "date-time" => DateTime::parse_from_rfc3339(text).is_ok(),
        "email" => text.rsplit_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !host.is_empty() && !text.contains(' ')
        }),
        "uri" | "url" => is(&URI),
        "uuid" => is(&UUID),
        "byte" | "base64" => is(&BASE64),
        "time" => is(&TIME),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        // The runner does not know the other formats well enough to reject a value.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_strings_fit_their_format_and_others_do_not() {
        for (format, also_valid) in [
            ("date", &["2028-02-29"][..]),
            ("date-time", &["2031-05-06T07:08:09.5+02:00"]),
            ("email", &["ada@example.org"]),
            ("uri", &["urn:isbn:0451450523"]),
            ("uuid", &["67e55044-10b1-426f-9247-bb680e5fe0c8"]),
            ("byte", &["", "YQ=="]),
            ("time", &["07:08:09", "23:59:60.25Z", "07:08:09-05:30"]),
            ("ipv4", &["255.255.255.255"]),
            ("ipv6", &["::", "::ffff:192.0.2.1"]),
        ] {
            for turn in [0, 1, 61] {
                let made = in_format(format, turn).unwrap();
                assert!(is_in_format(format, &made), "{format}: {made}");
            }
            for text in also_valid {
                assert!(is_in_format(format, text), "{format}: {text}");
            }
            assert!(!not_in_format(format).is_empty(), "{format}");
            for text in not_in_format(format) {
                assert!(!is_in_format(format, text), "{format}: {text}");
            }
        }
    }
}
