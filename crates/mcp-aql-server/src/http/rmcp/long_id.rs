//! Replaces numeric ids longer than 64 bits with strings, because rmcp cannot represent them.
//!
//! ```text
//! client                   rmcp
//! 18446744073709551616  →  "<random prefix>18446744073709551616"
//! ```

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::body::Bytes;
use memchr::memmem;
use rmcp::model::RequestId;

use crate::mcp::message::{Message, decode_message};

/// Prefix of the replacement strings. It is random, so ids chosen by clients never start with it.
static MARK: LazyLock<String> = LazyLock::new(|| uuid::Uuid::new_v4().to_string());
/// Start of an `id` member with a replacement string, as serialized by rmcp.
static MARKED_MEMBER: LazyLock<String> = LazyLock::new(|| format!(r#""id":"{}"#, *MARK));

/// Returns the message with a replaced id if it contains or refers to a long id.
pub(crate) fn shorten(message: &[u8]) -> Option<Vec<u8>> {
    let id = match decode_message(message) {
        Message::Cancelled { request } => request,
        Message::Call(call) => call.id,
        Message::Request(request) => request.id,
        _ => return None,
    };
    let digits = id.strip_prefix('-').unwrap_or(id);
    let is_long = !is_short_id(id) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_long.then(|| splice(message, id, &format!(r#""{}{id}""#, *MARK))).flatten()
}

/// Returns the message with `part` replaced by `new`. `part` must be a slice of the message.
pub(crate) fn splice(message: &[u8], part: &str, new: &str) -> Option<Vec<u8>> {
    let start = part.as_ptr().addr().checked_sub(message.as_ptr().addr())?;
    let rest = message.get(start + part.len()..)?;
    Some([message.get(..start)?, new.as_bytes(), rest].concat())
}

/// Returns `true` if rmcp can represent an id. Its numeric ids have 64 bits.
fn is_short_id(json: &str) -> bool {
    json.starts_with('"') || json.parse::<i64>().is_ok()
}

/// Returns a message from rmcp with its original id.
pub(crate) fn restore(message: Bytes) -> Bytes {
    let Some(at) = memmem::find(&message, MARKED_MEMBER.as_bytes()) else { return message };
    let (head, marked) = message.split_at(at);
    let rest = marked.get(MARKED_MEMBER.len()..).unwrap_or_default();
    let mut parts = rest.splitn(2, |byte| *byte == b'"');
    let (id, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    [head, br#""id":"#, id, rest].concat().into()
}

/// Converts an id used by rmcp to the canonical form of the original id.
pub(crate) fn written(id: &RequestId) -> Cow<'_, str> {
    let text = match id {
        RequestId::Number(number) => return number.to_string().into(),
        RequestId::String(text) => text,
    };
    match text.strip_prefix(MARK.as_str()) {
        Some(number) => number.into(),
        None => serde_json::Value::from(&**text).to_string().into(),
    }
}

/// Converts an id in canonical form, as returned by [`written`], to the form used by rmcp.
pub(crate) fn request_id(written: &str) -> Option<RequestId> {
    if written.starts_with('"') {
        return Some(RequestId::String(serde_json::from_str::<String>(written).ok()?.into()));
    }
    let digits = written.strip_prefix('-').unwrap_or(written);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match written.parse() {
        Ok(number) => RequestId::Number(number),
        Err(_) => RequestId::String(format!("{}{written}", *MARK).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "-9223372036854775809";

    #[test]
    fn long_ids_come_back_as_they_were() {
        let ping = format!(r#"{{"method":"ping","id":{LONG},"jsonrpc":"2.0"}}"#);
        let short = shorten(ping.as_bytes()).unwrap();
        assert!(!String::from_utf8_lossy(&short).contains(&format!(":{LONG}")));
        assert_eq!(restore(short.into()), ping);
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{LONG}}}}}"#
        );
        let short = shorten(cancel.as_bytes()).unwrap();
        let short: serde_json::Value = serde_json::from_slice(&short).unwrap();
        let id = short["params"]["requestId"].as_str().unwrap();
        assert_eq!(written(&RequestId::String(id.into())), LONG);
        assert_eq!(written(&request_id(LONG).unwrap()), LONG);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for message in [
            r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":"9223372036854775808","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":9223372036854775808,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}"#,
            "[",
        ] {
            assert!(shorten(message.as_bytes()).is_none(), "{message}");
            assert_eq!(restore(Bytes::from_static(message.as_bytes())), message);
        }
        for id in ["7", "-7", "\"\u{e9}\\n\"", "\"\""] {
            assert_eq!(written(&request_id(id).unwrap()), id);
        }
        for id in ["", "-", "1.5", "true", "[1]", "\"", "\"a\"b", "7 "] {
            assert!(request_id(id).is_none(), "{id}");
        }
    }
}
