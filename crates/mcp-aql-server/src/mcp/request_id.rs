//! The ids of requests: their canonical form, and their recovery from a message that cannot be decoded, so that the
//! client gets an answer.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// Maximum length of an id or a method, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// Scans a message piece by piece, and keeps only its `id` and `method`. Use this for messages that are too long or
/// malformed.
///
/// Only members of the outermost object are considered. Errors elsewhere in the message are ignored.
///
/// ```text
/// {"id":7,"method":"tools/call","params":{"name":      →  id 7, method "tools/call"
/// ```
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    depth: usize,
    text: StringState,
    /// The member whose name or value is being scanned.
    member: ScannedMember,
    /// If `true`, the next string is a name: after the outermost `{`, or after a comma in the outermost object.
    name_next: bool,
    /// The bytes of the current name or value, in their original spelling.
    kept: Vec<u8>,
    id: Option<Vec<u8>>,
    method: Option<Vec<u8>>,
    bytes: usize,
}

/// The position relative to strings.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// In a string, after a backslash.
    Escaped,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum ScannedMember {
    /// No member, or a name not yet started.
    #[default]
    Unknown,
    Name,
    Id,
    Method,
    Other,
}

/// The parts recovered from a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecoveredId {
    /// The JSON of the id, if it is valid: a string or an integer.
    pub(crate) id: Option<String>,
    /// The name of the method.
    pub(crate) method: Option<String>,
    /// Length of the message in bytes.
    pub(crate) bytes: usize,
}

impl IdScanner {
    /// Scans a complete message.
    pub(crate) fn of(message: &[u8]) -> RecoveredId {
        let mut recover_id = Self::default();
        recover_id.read(message);
        recover_id.finish()
    }

    /// Scans the next piece of a message.
    pub(crate) fn read(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        for &byte in piece {
            self.next(byte);
        }
    }

    fn next(&mut self, byte: u8) {
        let outermost = self.depth == 1;
        match (self.text, byte) {
            (StringState::Escaped, _) => {
                self.text = StringState::Inside;
                self.keep(byte);
            }
            (StringState::Inside, b'\\') => {
                self.text = StringState::Escaped;
                self.keep(byte);
            }
            (StringState::Inside, b'"') => {
                self.text = StringState::Outside;
                self.keep(byte);
                if self.member == ScannedMember::Name {
                    self.member = match self.kept.as_slice() {
                        b"\"id\"" => ScannedMember::Id,
                        b"\"method\"" => ScannedMember::Method,
                        _ => ScannedMember::Other,
                    };
                    self.kept.clear();
                }
            }
            (StringState::Inside, _) => self.keep(byte),
            (StringState::Outside, b'"') => {
                self.text = StringState::Inside;
                if outermost && self.name_next {
                    self.name_next = false;
                    self.member = ScannedMember::Name;
                    self.kept.clear();
                }
                self.keep(byte);
            }
            (StringState::Outside, b'{' | b'[') => {
                if outermost {
                    // An object or array is neither an id nor a method.
                    self.member = ScannedMember::Other;
                }
                self.depth = self.depth.saturating_add(1);
                self.name_next = self.depth == 1 && byte == b'{';
            }
            (StringState::Outside, b'}' | b']') => {
                if outermost {
                    self.value_ends();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            (StringState::Outside, b',') if outermost => {
                self.value_ends();
                self.name_next = true;
            }
            (StringState::Outside, b':') if outermost => self.kept.clear(),
            // Keep spaces inside a value: `1 2` is not a number.
            (StringState::Outside, byte) if byte.is_ascii_whitespace() && self.kept.is_empty() => {}
            (StringState::Outside, _) => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && !matches!(self.member, ScannedMember::Unknown | ScannedMember::Other)
        {
            if self.kept.len() < MAX_ID_BYTES {
                self.kept.push(byte);
            } else {
                self.member = ScannedMember::Other;
            }
        }
    }

    fn value_ends(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        match std::mem::take(&mut self.member) {
            ScannedMember::Id => self.id = Some(kept),
            ScannedMember::Method => self.method = Some(kept),
            ScannedMember::Unknown | ScannedMember::Name | ScannedMember::Other => {}
        }
    }

    /// Returns the recovered parts. An incomplete value at the end of the message is ignored.
    pub(crate) fn finish(self) -> RecoveredId {
        let text = |kept: Option<Vec<u8>>| String::from_utf8(kept?).ok();
        // The id is copied into the answer, so it must be valid JSON. For example, `007` is not.
        let id = text(self.id)
            .and_then(|json| {
                serde_json::from_str::<&RawValue>(&json).ok().map(|id| id.get().into())
            })
            .filter(|id: &String| is_id(id));
        let method = text(self.method).and_then(|json| serde_json::from_str(&json).ok());
        RecoveredId { id, method, bytes: self.bytes }
    }
}

/// Returns `true` if a JSON value is a valid id in MCP: a string or an integer. Integers can have any size, because the
/// answer contains the id in its original spelling.
pub(crate) fn is_id(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && json.len() <= MAX_ID_BYTES) || serde_json::from_str::<String>(json).is_ok()
}

/// Returns the id in rmcp's spelling. JSON has several ways to escape the characters of a string.
///
/// ```text
/// "a\u0062"  →  "ab"
/// ```
pub(crate) fn canonical_id(id: &str) -> Cow<'_, str> {
    if !id.contains('\\') {
        return Cow::Borrowed(id);
    }
    let text: Option<String> = serde_json::from_str(id).ok();
    let text = text.and_then(|text| serde_json::to_string(&text).ok());
    text.map_or(Cow::Borrowed(id), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(message: &[u8]) -> (Option<String>, Option<String>) {
        let RecoveredId { id, method, .. } = IdScanner::of(message);
        (id, method)
    }

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        for (message, id, method) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"#,
                Some("7"),
                Some("tools/call"),
            ),
            (
                r#"{"method":"tools/call","params":{"id":1,"method":"x"},"id":7}"#,
                Some("7"),
                Some("tools/call"),
            ),
            (r#" { "params" : [ { "id" : 1 } ] , "id" : "a\"}b" , "x" "#, Some(r#""a\"}b""#), None),
            (r#"{"params":"\"id\":3,","id":4,"#, Some("4"), None),
            (r#"{"id":4"#, None, None),
            (r#"{"id":null,"method":"a"}"#, None, Some("a")),
            (r#"{"id":1.5,"method":7}"#, None, None),
            (r#"{"id":{"id":1},"method":["a"]}"#, None, None),
            (r#"[{"id":1}]"#, None, None),
            (r#""id":1,"#, None, None),
            ("", None, None),
            (r#"{"id":18446744073709551616,"#, Some("18446744073709551616"), None),
            (r#"{"id":00,"#, None, None),
            (r#"{"id":+7,"#, None, None),
            (r#"{"id":1 2,"#, None, None),
            ("{\"id\": 7\t\r,\"method\" : \"a\" ,", Some("7"), Some("a")),
            (r#"{"id":1,"id":2}"#, Some("2"), None),
            (r#"{"a":{]]]},"id":2}"#, None, None),
        ] {
            let expected = (id.map(str::to_owned), method.map(str::to_owned));
            assert_eq!(found(message.as_bytes()), expected, "{message}");
        }
        assert_eq!(found(b"{\"x\":\"\xff\xfe\",\"id\":9}").0.as_deref(), Some("9"));
        assert_eq!(found(b"{\"id\":\"\xff\"}").0, None);
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(5_000));
        assert_eq!(found(long.as_bytes()).0, None, "nothing is buffered without bound");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(message: Vec<u8>, cut in 0_usize..64) {
            let (head, tail) = message.split_at(cut.min(message.len()));
            let mut recover_id = IdScanner::default();
            recover_id.read(head);
            recover_id.read(tail);
            prop_assert_eq!(recover_id.finish(), IdScanner::of(&message));
        }

        #[test]
        fn finds_id_and_method(id: i64, method in "[a-z/]{1,20}", text: String, first: bool) {
            let params = serde_json::json!({ "text": text, "id": 0, "list": [{ "method": text }] });
            let message = if first {
                format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#)
            } else {
                format!(r#"{{"params":{params},"method":"{method}","id":{id}}}"#)
            };
            let expected = (Some(id.to_string()), Some(method));
            prop_assert_eq!(found(message.as_bytes()), expected);
        }
    }
}
