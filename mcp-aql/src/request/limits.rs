use serde_json::{Map, Value};

use crate::error::{ErrorCode, OperationError};
use crate::router::clean;
use crate::shape::Path;
use crate::vocab::Limits;

/// A size limit was exceeded (REQ-ENC-13).
pub(crate) fn too_large(
    limit_type: &str,
    limit_value: usize,
    actual_value: usize,
    unit: &str,
) -> OperationError {
    OperationError::new(
        ErrorCode::ValidationPayloadTooLarge,
        format!("Payload exceeds {limit_type} limit of {limit_value} {unit}"),
    )
    .with_detail("limit_type", limit_type)
    .with_detail("limit_value", limit_value)
    .with_detail("actual_value", actual_value)
    .with_detail("unit", unit)
}

/// Measures a request against the limits and refuses U+0000 in text (REQ-ENC-02, REQ-ENC-08,
/// REQ-ENC-10 to REQ-ENC-12). The size is that of the serialised tool arguments.
pub(crate) fn check_request(
    arguments: &Map<String, Value>,
    limits: &Limits,
) -> Result<(), OperationError> {
    let mut bytes = 0;
    measure_object(arguments, 1, limits, &mut bytes)?;
    if bytes > limits.max_request_size {
        return Err(too_large("request_size", limits.max_request_size, bytes, "bytes"));
    }
    match find_nul(arguments).map(|location| clean(&location)) {
        Some(location) => Err(OperationError::new(
            ErrorCode::ValidationInvalidEncoding,
            format!("Invalid character encoding in request: '{location}' holds U+0000"),
        )
        .with_detail("location", location)),
        None => Ok(()),
    }
}

fn measure_object(
    fields: &Map<String, Value>,
    depth: usize,
    limits: &Limits,
    bytes: &mut usize,
) -> Result<(), OperationError> {
    check_depth(depth, limits)?;
    // Braces, and for each field a colon and, but for the first, a comma.
    *bytes += 2 + (fields.len() * 2).saturating_sub(1);
    for (name, value) in fields {
        measure_text(name, limits, bytes)?;
        measure(value, depth, limits, bytes)?;
    }
    Ok(())
}

fn check_depth(depth: usize, limits: &Limits) -> Result<(), OperationError> {
    if depth > limits.max_nesting_depth {
        // What lies deeper is not looked at: the count tells that the limit is passed, not by how much.
        return Err(too_large("nesting_depth", limits.max_nesting_depth, depth, "levels"));
    }
    Ok(())
}

fn measure(
    value: &Value,
    depth: usize,
    limits: &Limits,
    bytes: &mut usize,
) -> Result<(), OperationError> {
    match value {
        Value::Null | Value::Bool(true) => *bytes += 4,
        Value::Bool(false) => *bytes += 5,
        Value::Number(number) => *bytes += number_length(number),
        Value::String(text) => measure_text(text, limits, bytes)?,
        Value::Object(fields) => measure_object(fields, depth + 1, limits, bytes)?,
        Value::Array(values) => {
            check_depth(depth + 1, limits)?;
            if values.len() > limits.max_array_elements {
                return Err(too_large(
                    "array_elements",
                    limits.max_array_elements,
                    values.len(),
                    "elements",
                ));
            }
            *bytes += 2 + values.len().saturating_sub(1);
            for value in values {
                measure(value, depth + 1, limits, bytes)?;
            }
        }
    }
    Ok(())
}

fn number_length(number: &serde_json::Number) -> usize {
    match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => {
            let sign = usize::from(whole < 0);
            sign + digits(whole.unsigned_abs())
        }
        (_, Some(whole)) => digits(whole),
        _ => number.to_string().len(),
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

fn measure_text(text: &str, limits: &Limits, bytes: &mut usize) -> Result<(), OperationError> {
    if text.len() > limits.max_string_length {
        return Err(too_large("string_length", limits.max_string_length, text.len(), "bytes"));
    }
    let escapes: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum();
    *bytes += text.len() + escapes + 2;
    Ok(())
}

/// Where the request holds U+0000, if it does.
fn find_nul(arguments: &Map<String, Value>) -> Option<String> {
    arguments.iter().find_map(|(name, value)| {
        if name.contains('\0') {
            return Some(Path::Root(name).to_string());
        }
        nul_in(value, Path::Root(name))
    })
}

fn nul_in(value: &Value, path: Path<'_>) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(|| path.to_string()),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .find_map(|(index, value)| nul_in(value, Path::Item(&path, index))),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let at = Path::Field(&path, name);
            if name.contains('\0') { Some(at.to_string()) } else { nul_in(value, at) }
        }),
        _ => None,
    }
}

/// Measures a reply, which is JSON text that we wrote ourselves, in one pass over its bytes.
pub(crate) fn check_response(text: &str, limits: &Limits) -> Result<(), OperationError> {
    if text.len() > limits.max_response_size {
        return Err(too_large("response_size", limits.max_response_size, text.len(), "bytes"));
    }
    // Elements of each open array so far; `None` for an open object.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut bytes = text.bytes();
    let mut fresh = false;
    while let Some(byte) = bytes.next() {
        if fresh && byte != b']' {
            count_element(&mut open, limits)?;
        }
        fresh = false;
        match byte {
            b'"' => skip_text(&mut bytes, limits)?,
            b'{' | b'[' => {
                open.push((byte == b'[').then_some(0));
                check_depth(open.len(), limits)?;
                fresh = byte == b'[';
            }
            b'}' | b']' => drop(open.pop()),
            b',' => count_element(&mut open, limits)?,
            _ => {}
        }
    }
    Ok(())
}

fn count_element(open: &mut [Option<usize>], limits: &Limits) -> Result<(), OperationError> {
    if let Some(Some(count)) = open.last_mut() {
        *count += 1;
        if *count > limits.max_array_elements {
            return Err(too_large("array_elements", limits.max_array_elements, *count, "elements"));
        }
    }
    Ok(())
}

/// Moves behind the closing quotation mark.
fn skip_text(bytes: &mut std::str::Bytes<'_>, limits: &Limits) -> Result<(), OperationError> {
    let mut length = 0_usize;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            // An escape stands for one byte or, as `\uXXXX`, for one control character.
            b'\\' => {
                if bytes.next() == Some(b'u') {
                    bytes.by_ref().take(4).for_each(drop);
                }
                length += 1;
            }
            _ => length += 1,
        }
    }
    if length > limits.max_string_length {
        return Err(too_large("string_length", limits.max_string_length, length, "bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn limits() -> Limits {
        Limits {
            max_request_size: 200,
            max_response_size: 200,
            max_string_length: 10,
            max_array_elements: 3,
            max_nesting_depth: 4,
            ..Limits::default()
        }
    }

    fn limit_type(result: Result<(), OperationError>) -> Option<String> {
        let error = result.err()?;
        assert_eq!(error.code(), ErrorCode::ValidationPayloadTooLarge);
        for key in ["limit_type", "limit_value", "actual_value", "unit"] {
            assert!(error.details().contains_key(key), "REQ-ENC-13: {key}");
        }
        error.details()["limit_type"].as_str().map(str::to_owned)
    }

    #[test]
    fn every_limit_holds_for_requests_and_replies() {
        // REQ-ENC-08 to REQ-ENC-13
        for (shows, value, expected) in [
            ("the specification's example is 4 levels", json!({"a": {"b": {"c": {}}}}), None),
            ("five levels", json!({"a": {"b": {"c": {"d": {}}}}}), Some("nesting_depth")),
            ("arrays count as well", json!({"a": [[[[]]]]}), Some("nesting_depth")),
            ("three elements", json!({"a": [1, 2, 3]}), None),
            ("four elements", json!({"a": [1, 2, 3, 4]}), Some("array_elements")),
            ("nested elements count by themselves", json!({"a": [[1, 2], [3, 4], []]}), None),
            ("ten bytes of text", json!({"a": "0123456789"}), None),
            ("eleven bytes of text", json!({"a": "0123456789x"}), Some("string_length")),
            ("bytes, not characters", json!({"a": "ééééé"}), None),
            ("escapes count as what they stand for", json!({"a": "\"\"\"\"\"\"\"\"\"\u{1}"}), None),
            ("commas inside of text are no elements", json!({"a": [",,,", "],[", "\""]}), None),
        ] {
            let request = check_request(value.as_object().unwrap(), &limits());
            assert_eq!(limit_type(request).as_deref(), expected, "{shows}, request");
            let reply = check_response(&value.to_string(), &limits());
            assert_eq!(limit_type(reply).as_deref(), expected, "{shows}, reply");
        }
        let long = json!({"a": ["0123456789", "0123456789", "0123456789"], "b": {"c": ["0123456789", "0123456789", "0123456789"]}});
        let long = json!({"x": long, "y": long, "z": long});
        assert_eq!(
            limit_type(check_request(long.as_object().unwrap(), &limits())).as_deref(),
            Some("request_size")
        );
        assert_eq!(
            limit_type(check_response(&long.to_string(), &limits())).as_deref(),
            Some("response_size")
        );
    }

    #[test]
    fn the_measured_size_is_the_serialised_size() {
        // REQ-ENC-08
        for value in [
            json!({}),
            json!({"a": null, "b": [true, false, -1, 0, 18446744073709551615u64, 1.5, -0.25e-7]}),
            json!({"text": "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{1f}é漢\u{7f}", "é\"": {"": []}}),
        ] {
            let mut bytes = 0;
            measure_object(value.as_object().unwrap(), 1, &Limits::default(), &mut bytes).unwrap();
            assert_eq!(bytes, value.to_string().len(), "{value}");
        }
    }

    #[test]
    fn nul_is_refused_wherever_it_hides() {
        // REQ-ENC-02, REQ-ENC-01
        for (value, location) in [
            (json!({"a": "x\u{0}"}), "a"),
            (json!({"a": {"b": ["ok", "\u{0}"]}}), "a.b[1]"),
            (json!({"a": {"\u{0}": 1}}), "a.?"),
        ] {
            let error = check_request(value.as_object().unwrap(), &limits()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ValidationInvalidEncoding);
            assert_eq!(error.details()["location"], location);
        }
    }

    #[test]
    fn nesting_beyond_any_stack_is_refused() {
        // REQ-ENC-12
        let mut value = json!(1);
        for _ in 0..5_000 {
            value = Value::Array(vec![value]);
        }
        let mut arguments = Map::new();
        arguments.insert("a".into(), value);
        assert_eq!(
            limit_type(check_request(&arguments, &Limits::default())).as_deref(),
            Some("nesting_depth")
        );
        // Dropping so deep a value recurses too: take it apart level by level.
        let mut inner = arguments.remove("a").unwrap();
        while let Value::Array(mut values) = inner {
            inner = values.pop().unwrap();
        }
    }
}
