//! Reads the parameters of the examples in the details of an operation.
//!
//! An example is an object with a `request`, or a string in JavaScript notation as some adapters send it:
//!
//! ```text
//! { operation: "list_beds", bed_type: "raised", params: { size: 2 } }
//! ```
//!
//! The check `introspection.details_form` reports such strings. Their values are still useful for valid calls.

use serde_json::{Map, Value};

/// Maximum length of an example string, in bytes. Longer strings are ignored.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Returns the parameters of an example.
///
/// In a string, members next to `operation` count as parameters; those in `params` take precedence.
pub(crate) fn params(example: &Value) -> Option<Map<String, Value>> {
    let read;
    let request = match example {
        Value::String(text) => {
            read = serde_json::from_str::<Value>(&quoted(text)?).ok()?;
            read.as_object()?
        }
        _ => return example.pointer("/request/params")?.as_object().cloned(),
    };
    let mut params = request.clone();
    params.retain(|name, _| name != "operation" && name != "params");
    params.extend(request.get("params").and_then(Value::as_object).cloned().unwrap_or_default());
    Some(params)
}

/// Converts an object in JavaScript notation to JSON by quoting its member names.
///
/// ```text
/// { bed_type: "raised" }  →  { "bed_type": "raised" }
/// ```
fn quoted(text: &str) -> Option<String> {
    if text.len() > MAX_TEXT_BYTES || !text.trim_start().starts_with('{') {
        return None;
    }
    let is_of_name =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    let mut json = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            string_length(rest)
        } else if is_of_name(first) {
            rest.find(|letter: char| !is_of_name(letter)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (part, after) = rest.split_at_checked(length)?;
        if is_of_name(first) && after.trim_start().starts_with(':') {
            json.extend(["\"", part, "\""]);
        } else {
            json.push_str(part);
        }
        rest = after;
    }
    Some(json)
}

/// Returns the length of the quoted string at the start of `text`, or the whole length without a closing quote.
fn string_length(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_objects_and_texts() {
        let expected = json!({ "bed_type": "raised", "tags": ["a: \"b\""], "size": 2 });
        for example in [
            json!({ "request": { "operation": "list_beds", "params": expected } }),
            json!(
                r#"{ operation: "list_beds", bed_type: "raised", params: { tags: ["a: \"b\""], size: 2 } }"#
            ),
            json!(
                r#"{"operation":"list_beds","bed_type":"flat","params":{"bed_type":"raised","tags":["a: \"b\""],"size":2}}"#
            ),
        ] {
            assert_eq!(params(&example).map(Value::Object), Some(expected.clone()), "{example}");
        }
    }

    #[test]
    fn other_texts_have_no_parameters() {
        for text in ["", "list_beds", "{", "{ a: b }", "{ \"a", "{ \"\\", "[1]", "{ é: 1 }", "7"] {
            assert_eq!(params(&json!(text)), None, "{text}");
        }
        assert_eq!(params(&json!(format!("{{ a: \"{}\" }}", "x".repeat(MAX_TEXT_BYTES)))), None);
        assert_eq!(params(&json!({ "params": {} })), None);
    }
}
