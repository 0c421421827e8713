//! Recovers the id and the method of a message that is too long or too broken to be decoded, so
//! that its sender gets an answer.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The maximum length of an id or a method, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// Scans a message piece by piece and keeps only its `id` and `method`.
///
/// Only members of the outermost object count; errors elsewhere are ignored.
#[derive(Debug, Default)]
pub(crate) struct IdScanner {
    depth: usize,
    text: StringState,
    /// The name of the member whose value is next.
    member: ScannedMember,
    /// Whether a name may be next: after the outermost `{`, or after a comma in it.
    name_next: bool,
    /// The text being kept: a name, or a value in its original spelling.
    kept: Vec<u8>,
    id: Option<Vec<u8>>,
    method: Option<Vec<u8>>,
    bytes: usize,
}

/// Whether the next byte is inside a string.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum ScannedMember {
    /// No member, or its name is being read.
    #[default]
    Unknown,
    Name,
    Id,
    Method,
    Other,
}

/// The recovered parts of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecoveredId {
    /// The JSON text of the id, if it is a valid one: a string or an integer.
    pub(crate) id: Option<String>,
    /// The method's name.
    pub(crate) method: Option<String>,
    /// The length of the message in bytes.
    pub(crate) bytes: usize,
}

impl IdScanner {
    /// Scans a whole message.
    pub(crate) fn of(message: &[u8]) -> RecoveredId {
        let mut recover_id = Self::default();
        recover_id.read(message);
        recover_id.finish()
    }

    /// Scans the next piece.
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
                    // Objects and lists are neither ids nor methods.
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
            // Spaces inside a value are kept: `1 2` is not a number.
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

    /// The result so far. A value that is cut off by the end of the message is ignored.
    pub(crate) fn finish(self) -> RecoveredId {
        let text = |kept: Option<Vec<u8>>| String::from_utf8(kept?).ok();
        // The id is echoed, so it must be valid JSON, which `007` is not.
        let id = text(self.id)
            .and_then(|json| {
                serde_json::from_str::<&RawValue>(&json).ok().map(|id| id.get().into())
            })
            .filter(|id: &String| is_id(id));
        let method = text(self.method).and_then(|json| serde_json::from_str(&json).ok());
        RecoveredId { id, method, bytes: self.bytes }
    }
}

/// Whether a JSON value is a valid id of MCP: a string or an integer. It is echoed in its original
/// spelling, so a number may have any size.
pub(crate) fn is_id(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && json.len() <= MAX_ID_BYTES) || serde_json::from_str::<String>(json).is_ok()
}

/// The id in rmcp's spelling: JSON has several ways to write the characters of a string.
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
