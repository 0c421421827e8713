//! Checks of character encoding: invalid strings are rejected, and valid ones are stored unchanged.

mod invalid;
mod scripts;

use serde_json::Value;

use super::{Check, checks};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::Run;
use crate::shape::Shape;

pub(super) const CHECKS: &[Check] = checks![
    Should 1 "encoding.nul" => Reads(invalid::nul), ["REQ-ENC-02"],
        "U+0000 in a string is rejected with VALIDATION_INVALID_ENCODING",
        expected: "a failure VALIDATION_INVALID_ENCODING",
        fix: "check all strings of a request for U+0000 before any other processing: C strings end at U+0000";
    Must 1 "encoding.invalid_utf8" => Alone(invalid::invalid_utf8), ["REQ-ENC-01"],
        "Invalid UTF-8 is rejected",
        expected: "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error if the transport cannot decode it",
        fix: "read the messages as bytes and reject those that are not valid UTF-8: replacing invalid bytes changes \
         the data of the client. The MCP SDK for Python decodes standard input with errors=\"replace\", and the one \
         for TypeScript with toString(\"utf8\"). Both replace the bytes before the code of an adapter sees them, so \
         read the lines of `sys.stdin.buffer` or `process.stdin` yourself, and pass the valid ones to the SDK";
    Must 1 "encoding.lone_surrogate" => Alone(invalid::lone_surrogate), ["REQ-ENC-01"],
        "A lone surrogate is rejected",
        expected: "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error if the transport cannot decode it",
        fix: "reject an escape such as \\ud800 without its other half: the string cannot be encoded as UTF-8. The \
         JSON parsers of JavaScript and of Python's `json` accept such an escape, so look for code units from U+D800 \
         to U+DFFF in all parsed strings";
    Must 1 "encoding.unicode" => Reads(scripts::unicode), ["REQ-ENC-01"],
        "Text of every script is accepted";
    Must 2 "encoding.round_trip" => Changes(scripts::round_trip), ["REQ-ENC-01", "REQ-CNF-13"],
        "Text of every script is returned unchanged",
        fix: "store strings unchanged: do not normalize, escape or replace characters";
    Must 1 "encoding.binary" => Every(binary), ["REQ-ENC-06"],
        "Bytes in results are padded base64 with a MIME type",
        fix: "encode bytes as in RFC 4648 §4, and state their MIME type next to them";
];

/// Returns `true` if a parameter accepts any string.
pub(super) fn is_free(run: &Run, parameter: &Parameter) -> bool {
    parameter.kind == "string" && Shape::of(&run.adapter, parameter).is_free_text()
}

/// Returns the free-form string parameters of operations that change nothing.
fn free_texts(run: &Run) -> impl Iterator<Item = (&Operation, &Parameter)> {
    let parameters = |operation| {
        let operation: &Operation = operation;
        operation.parameters.iter().map(move |parameter| (operation, parameter))
    };
    run.adapter.reads().flat_map(parameters).filter(|(_, parameter)| is_free(run, parameter))
}

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
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - bare.len() <= 2
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn binary(_: &Run, exchange: &Exchange, cases: &Cases) {
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
            Finding::of(exchange, format!("{}: `{name}`", exchange.operation())).expected(format!(
                "padded base64 of the usual alphabet in `{name}`, and `{name}_mime_type`"
            ))
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
