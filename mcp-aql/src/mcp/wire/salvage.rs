//! What can be found out about a message that is too long or too broken to be decoded, so that its
//! sender is not left waiting.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// Ids and methods longer than this are nobody's.
const LONGEST: usize = 1024;

/// Reads a message piece by piece and keeps nothing of it but its `id` and `method`.
///
/// It looks for members of the outermost object and does not mind what is wrong elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Salvage {
    depth: usize,
    text: Text,
    /// The name of the member whose value comes next.
    member: Member,
    /// Whether a name may come next: behind the outermost `{`, or a comma in it.
    name_next: bool,
    /// What is being kept: a name, or a value's text as it was sent.
    kept: Vec<u8>,
    id: Option<Vec<u8>>,
    method: Option<Vec<u8>>,
    bytes: usize,
}

/// Whether the next byte is inside of a string.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Member {
    /// None, or its name is being read.
    #[default]
    Unknown,
    Name,
    Id,
    Method,
    Other,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Salvaged {
    /// The id's JSON text, when it is one that MCP knows: a string or a whole number.
    pub(crate) id: Option<String>,
    /// The method's name.
    pub(crate) method: Option<String>,
    /// How long the message was.
    pub(crate) bytes: usize,
}

impl Salvage {
    /// Reads a whole message.
    pub(crate) fn of(message: &[u8]) -> Salvaged {
        let mut salvage = Self::default();
        salvage.read(message);
        salvage.finish()
    }

    /// Reads the next piece.
    pub(crate) fn read(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        for &byte in piece {
            self.next(byte);
        }
    }

    fn next(&mut self, byte: u8) {
        let outermost = self.depth == 1;
        match (self.text, byte) {
            (Text::Escaped, _) => {
                self.text = Text::Inside;
                self.keep(byte);
            }
            (Text::Inside, b'\\') => {
                self.text = Text::Escaped;
                self.keep(byte);
            }
            (Text::Inside, b'"') => {
                self.text = Text::Outside;
                self.keep(byte);
                if self.member == Member::Name {
                    self.member = match self.kept.as_slice() {
                        b"\"id\"" => Member::Id,
                        b"\"method\"" => Member::Method,
                        _ => Member::Other,
                    };
                    self.kept.clear();
                }
            }
            (Text::Inside, _) => self.keep(byte),
            (Text::Outside, b'"') => {
                self.text = Text::Inside;
                if outermost && self.name_next {
                    self.name_next = false;
                    self.member = Member::Name;
                    self.kept.clear();
                }
                self.keep(byte);
            }
            (Text::Outside, b'{' | b'[') => {
                if outermost {
                    // An object or a list is no id and no method.
                    self.member = Member::Other;
                }
                self.depth = self.depth.saturating_add(1);
                self.name_next = self.depth == 1 && byte == b'{';
            }
            (Text::Outside, b'}' | b']') => {
                if outermost {
                    self.value_ends();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            (Text::Outside, b',') if outermost => {
                self.value_ends();
                self.name_next = true;
            }
            (Text::Outside, b':') if outermost => self.kept.clear(),
            // Inside of a value it stays: `1 2` is no number.
            (Text::Outside, byte) if byte.is_ascii_whitespace() && self.kept.is_empty() => {}
            (Text::Outside, _) => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && !matches!(self.member, Member::Unknown | Member::Other) {
            if self.kept.len() < LONGEST {
                self.kept.push(byte);
            } else {
                self.member = Member::Other;
            }
        }
    }

    fn value_ends(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        match std::mem::take(&mut self.member) {
            Member::Id => self.id = Some(kept),
            Member::Method => self.method = Some(kept),
            Member::Unknown | Member::Name | Member::Other => {}
        }
    }

    /// What was found by now. A value that the message's end cuts off is not trusted.
    pub(crate) fn finish(self) -> Salvaged {
        let text = |kept: Option<Vec<u8>>| String::from_utf8(kept?).ok();
        // An id goes back as it came, so it has to be JSON: `007` is none.
        let id = text(self.id)
            .and_then(|json| {
                serde_json::from_str::<&RawValue>(&json).ok().map(|id| id.get().into())
            })
            .filter(|id: &String| is_id(id));
        let method = text(self.method).and_then(|json| serde_json::from_str(&json).ok());
        Salvaged { id, method, bytes: self.bytes }
    }
}

/// Whether a JSON value is an id as MCP has it: a string or a whole number. It goes back as it was
/// written, so that a number may have any size.
pub(crate) fn is_id(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && json.len() <= LONGEST) || serde_json::from_str::<String>(json).is_ok()
}

/// Whether rmcp has room for an id: its numbers have 64 bits.
#[cfg(feature = "http")]
pub(crate) fn is_short_id(json: &str) -> bool {
    json.starts_with('"') || json.parse::<i64>().is_ok()
}

/// An id as rmcp writes it: JSON may write the characters of a string in several ways.
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
        let Salvaged { id, method, .. } = Salvage::of(message);
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
            let mut salvage = Salvage::default();
            salvage.read(head);
            salvage.read(tail);
            prop_assert_eq!(salvage.finish(), Salvage::of(&message));
        }

        #[test]
        fn what_json_says_is_found(id: i64, method in "[a-z/]{1,20}", text: String, first: bool) {
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
