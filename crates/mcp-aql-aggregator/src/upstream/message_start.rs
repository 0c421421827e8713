//! Identifies an oversized message from its beginning or its end.

/// The kind of a message, inferred from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageStart {
    /// An answer whose id precedes the long part.
    Answer(i64),
    /// A request or a notification.
    Method,
    /// Not known yet.
    Unknown,
}

/// Returns the kind of a message from its beginning.
///
/// ```text
/// {"jsonrpc":"2.0","id":7,"result":{"content":[{     → Answer(7)
/// {"jsonrpc":"2.0","method":"x","params":{"id":9     → Method
/// {"result":{"id":9,                                 → Unknown
/// ```
pub(super) fn message_start(bytes: &[u8]) -> MessageStart {
    parse_start(bytes).unwrap_or(MessageStart::Unknown)
}

fn parse_start(bytes: &[u8]) -> Option<MessageStart> {
    let mut rest = bytes.trim_ascii_start().strip_prefix(b"{")?;
    loop {
        rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        let (name, after) = rest.split_at(end);
        let after = after.strip_prefix(b"\"")?.trim_ascii_start().strip_prefix(b":")?;
        if name == b"method" {
            return Some(MessageStart::Method);
        }
        let after = after.trim_ascii_start();
        // Only short members may come first: strings without escapes, and numbers.
        let end = match after.split_first()? {
            (b'"', text) => text.iter().position(|byte| *byte == b'"')?.checked_add(2)?,
            (b'-' | b'0'..=b'9', _) => after.iter().position(|byte| b", \t}".contains(byte))?,
            _ => return None,
        };
        let (value, after) = after.split_at_checked(end)?;
        rest = after.trim_ascii_start().strip_prefix(b",")?;
        if name == b"id" {
            let id = parse_id(std::str::from_utf8(value).ok()?)?;
            // A request of the server also has an id.
            let is_request = rest.trim_ascii_start().starts_with(b"\"method\"");
            return Some(if is_request { MessageStart::Method } else { MessageStart::Answer(id) });
        }
    }
}

/// Returns the id of an answer from its end. Use this if the beginning does not contain the id.
pub(super) fn id_at_end(bytes: &[u8]) -> Option<i64> {
    let bytes = bytes.trim_ascii_end().strip_suffix(b"}")?;
    let at = memchr::memmem::rfind(bytes, b"\"id\"")?;
    let rest = bytes.get(at + 4..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii();
    // Only a protocol version may follow the id.
    let end = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
    let (value, after) = rest.split_at_checked(end)?;
    if memchr::memmem::find(after, b"{").is_some() || memchr::memmem::find(after, b"}").is_some() {
        return None;
    }
    parse_id(std::str::from_utf8(value.trim_ascii()).ok()?)
}

/// Parses the id of an answer. Some servers send it as a string.
pub(super) fn parse_id(id: &str) -> Option<i64> {
    id.trim_matches('"').parse().ok()
}
