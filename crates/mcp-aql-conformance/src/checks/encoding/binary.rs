//! Checks of binary data in results.

use serde_json::Value;

use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::Run;

/// Collects the members with an encoding: their name, the encoded value and its MIME type.
///
/// ```json
/// { "photo": "aGk=", "photo_encoding": "base64", "photo_mime_type": "image/png" }
/// ```
fn bytes_in<'a>(
    value: &'a Value,
    found: &mut Vec<(&'a str, Option<&'a Value>, Option<&'a Value>)>,
) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.strip_suffix("_encoding") {
                    Some(of) if *member == "base64" => {
                        found.push((of, members.get(of), members.get(&format!("{of}_mime_type"))));
                    }
                    _ => bytes_in(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| bytes_in(item, found)),
        _ => {}
    }
}

/// Returns `true` if a string is padded base64 (RFC 4648).
pub(super) fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - bare.len() <= 2
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

pub(super) fn binary(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = exchange.data() else { return };
    let mut found = Vec::new();
    bytes_in(data, &mut found);
    if found.is_empty() {
        cases.not_applicable("no result has a member such as `content_encoding`: base64");
    }
    for (name, bytes, kind) in found {
        let holds = bytes.and_then(Value::as_str).is_some_and(is_base64)
            && kind.is_some_and(Value::is_string);
        cases.expect(holds, || {
            Finding::of(
                exchange,
                format!("{}: `{name}`", exchange.operation()),
                format!("padded base64 of the usual alphabet in `{name}`, and `{name}_mime_type`"),
                "encode bytes as in RFC 4648 §4, and state their MIME type beside them",
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_padded_base64() {
        for text in ["", "AP8BAg==", "AP8B", "+/+/", "AAA="] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["AP8BAg", "AP8BAg=", "AP8B Ag==", "-_-_", "A===", "AP8=BAg="] {
            assert!(!is_base64(text), "{text}");
        }
    }
}
