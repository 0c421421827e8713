//! Identifiers, limits and names for all other modules. This module depends on none of them.

mod reply_form;

use hmac_sha256::Hash;
use serde_json::Value;

pub use reply_form::quote;
pub(crate) use reply_form::{ReplyForm, ReplyLimits, count_escapes};

/// Returns the SHA-256 hash of bytes in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Hash::hash(bytes))
}

/// Encodes bytes as hexadecimal digits. Formatting each byte with `format!` would take ten times as long, which
/// matters for the digest of a token.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
    text
}

/// Creates a random UUID.
pub fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Creates a short random identifier for logs and replies, for example `s-1f0c9a7be2d84c11`.
pub fn new_id(prefix: &str) -> String {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The high half contains the constant version bits, so the low half is mixed in.
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    format!("{prefix}-{:016x}", high ^ low.rotate_left(17))
}

/// Formats a value. Strings have no quotation marks.
pub fn plain_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the type of a JSON value, as the protocol's messages name it.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
