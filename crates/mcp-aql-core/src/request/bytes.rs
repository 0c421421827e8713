//! Parses tool arguments from bytes.

use mcp_aql_protocol::ErrorCode;
use mcp_aql_protocol::SizeLimits;

use super::json_reader::{self, ParsedObject, invalid_encoding};
use super::limits::{PARSED_DEPTH, too_large};
use crate::error::OperationError;
use crate::vocab::json_type;

/// Parses tool arguments from the bytes of a transport (REQ-ENC-01, REQ-ENC-12).
pub fn parse(bytes: &[u8], limits: &SizeLimits) -> Result<ParsedObject, OperationError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(invalid_encoding(error.valid_up_to())),
    };
    match json_reader::read(text) {
        Ok(Ok(arguments)) => Ok(arguments),
        Ok(Err(other)) => {
            Err(OperationError::invalid_type("arguments", "object", json_type(&other)))
        }
        Err(_) if depth_of(text) > PARSED_DEPTH => {
            Err(too_large("nesting_depth", limits.max_nesting_depth, depth_of(text), "levels"))
        }
        // The parser's message describes the syntax error and its position.
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

/// Returns the nesting depth of objects and arrays.
pub(crate) fn depth_of(text: &str) -> usize {
    nesting(text).1
}

/// Returns the number of open objects and arrays at the end of the JSON, and the maximum nesting depth. The JSON may
/// be incomplete.
pub(crate) fn nesting(text: &str) -> (usize, usize) {
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
    (depth, deepest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn read(bytes: &[u8]) -> Result<Map<String, Value>, OperationError> {
        let mut arguments = parse(bytes, &SizeLimits::default())?;
        match arguments.losses.pop() {
            None => Ok(arguments.members),
            Some(loss) => Err(loss.error),
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_named() {
        // REQ-ENC-05
        let error = read(b"{\n\"a\":-1e999}").unwrap_err();
        assert_eq!(error.code(), ErrorCode::ValidationInvalidValue);
        assert_eq!(error.details()["param_name"], "a");
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
