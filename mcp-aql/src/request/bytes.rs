use super::json_reader::{self, Arguments};
use super::limits::too_large;
use crate::error::{ErrorCode, OperationError};
use crate::vocab::{Limits, json_type};

/// serde_json goes no deeper. No limit on nesting that an adapter may have is beyond it.
pub(super) const PARSED_DEPTH: usize = 127;

/// Reads tool arguments from the bytes that a transport received (REQ-ENC-01, REQ-ENC-12).
pub(crate) fn parse(bytes: &[u8], limits: &Limits) -> Result<Arguments, OperationError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(invalid_encoding(error.valid_up_to())),
    };
    if let Some(offset) = lone_surrogate(text) {
        return Err(invalid_encoding(offset));
    }
    match json_reader::read(text) {
        Ok(Ok(arguments)) => Ok(arguments),
        Ok(Err(other)) => {
            Err(OperationError::invalid_type("arguments", "object", json_type(&other)))
        }
        Err(error) if error.to_string().starts_with("number out of range") => {
            Err(OperationError::invalid_value(
                "arguments",
                format!(
                    "must have no number beyond 1.8e308 (line {}, column {}): send a string",
                    error.line(),
                    error.column()
                ),
            ))
        }
        Err(_) if depth_of(text) > PARSED_DEPTH => {
            Err(too_large("nesting_depth", limits.max_nesting_depth, depth_of(text), "levels"))
        }
        // What the parser says is about JSON's syntax, and its position helps.
        Err(error) => Err(OperationError::new(
            ErrorCode::ValidationInvalidType,
            format!(
                "Parameter 'arguments' expected 'object', got 'malformed JSON' (line {}, column {})",
                error.line(),
                error.column()
            ),
        )
        .with_detail("param_name", "arguments")
        .with_detail("expected_type", "object")
        .with_detail("actual_type", "malformed JSON")),
    }
}

pub(crate) fn invalid_encoding(byte_offset: usize) -> OperationError {
    OperationError::new(
        ErrorCode::ValidationInvalidEncoding,
        format!(
            "Invalid character encoding in request: byte {byte_offset} starts no UTF-8 character"
        ),
    )
    .with_detail("byte_offset", byte_offset)
}

/// How deep objects and arrays are nested.
pub(super) fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut inside, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Where an escape stands for half a surrogate pair, if one does: `\ud800` alone is no character.
fn lone_surrogate(text: &str) -> Option<usize> {
    let mut escapes = Escapes { text, at: 0 }.peekable();
    while let Some((offset, unit)) = escapes.next() {
        match unit {
            0xD800..0xDC00 => {
                // Its other half must follow at once, six bytes on.
                match escapes.peek() {
                    Some((next, 0xDC00..0xE000)) if *next == offset + 6 => drop(escapes.next()),
                    _ => return Some(offset),
                }
            }
            0xDC00..0xE000 => return Some(offset),
            _ => {}
        }
    }
    None
}

/// The `\uXXXX` escapes of a JSON text, with their places.
struct Escapes<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Escapes<'_> {
    type Item = (usize, u16);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.text.get(self.at..)?;
            let offset = self.at + rest.find('\\')?;
            let escape = self.text.as_bytes().get(offset + 1)?;
            if *escape != b'u' {
                // `\\` and the like; a character of several bytes cannot follow in valid JSON.
                self.at = offset + 1 + escape_length(*escape);
                continue;
            }
            self.at = offset + 2;
            let digits = self.text.get(offset + 2..offset + 6);
            if let Some(unit) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                self.at = offset + 6;
                return Some((offset, unit));
            }
        }
    }
}

/// How far to go on behind a backslash: past an ASCII escape, and nowhere before anything else.
fn escape_length(byte: u8) -> usize {
    usize::from(byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn read(bytes: &[u8]) -> Result<Map<String, Value>, OperationError> {
        parse(bytes, &Limits::default()).map(|arguments| arguments.members)
    }

    #[test]
    fn a_number_that_is_too_large_is_named() {
        // REQ-ENC-05
        let error = read(b"{\n\"a\":-1e999}").unwrap_err();
        assert_eq!(error.code(), ErrorCode::ValidationInvalidValue);
        assert!(error.message().contains("line 2, column"), "{}", error.message());
    }

    #[test]
    fn nesting_beyond_the_parser_is_told_as_such() {
        // REQ-ENC-12
        for levels in [128, 50_000] {
            let text =
                format!(r#"{{"a\"[":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
            let error = read(text.as_bytes()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ValidationPayloadTooLarge);
            assert_eq!(error.details()["actual_value"], levels);
        }
        let brackets = format!(r#"{{"a":"{}"#, "[".repeat(200));
        assert_eq!(read(brackets.as_bytes()).unwrap_err().code(), ErrorCode::ValidationInvalidType);
    }

    fn offset(bytes: &[u8]) -> Option<u64> {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ValidationInvalidEncoding, "{}", error.message());
        error.details()["byte_offset"].as_u64()
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_by_their_place() {
        // REQ-ENC-01
        for (shows, bytes, expected) in [
            ("overlong", &b"{\"a\":\"\xC0\xAF\"}"[..], 6),
            ("bad continuation", b"{\"a\":\"\xE2\x28\xA1\"}", 6),
            ("truncated", b"{\"a\":\"\xE2\x82", 6),
            ("encoded surrogate", b"{\"a\":\"\xED\xA0\x80\"}", 6),
            ("lone leading surrogate", br#"{"a":"\ud800"}"#, 6),
            ("lone trailing surrogate", br#"{"a":"x\uDC00"}"#, 7),
            ("two leading surrogates", br#"{"a":"\ud800\ud800\udc00"}"#, 6),
            ("halves apart", br#"{"a":"\ud83d \ude00"}"#, 6),
        ] {
            assert_eq!(offset(bytes), Some(expected), "{shows}");
        }
    }

    #[test]
    fn text_is_read() {
        // REQ-ENC-01
        for text in [r#"{"a":"\ud83d\ude00 \\ud800 é"}"#, r#"{"a":"\\\\ud800\u00e9"}"#, "{}"] {
            assert!(read(text.as_bytes()).is_ok(), "{text}");
        }
        for text in ["[]", "{", "", "\"\\"] {
            let code = read(text.as_bytes()).unwrap_err().code();
            assert_eq!(code, ErrorCode::ValidationInvalidType, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&bytes);
        }

        #[test]
        fn every_text_survives(text in "\\PC*|[\u{0}-\u{10ffff}]*") {
            let json = serde_json::json!({ "a": text });
            let parsed = read(json.to_string().as_bytes()).map(Value::from);
            prop_assert_eq!(parsed.ok(), Some(json));
        }
    }
}
