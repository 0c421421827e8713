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
    let mut seen = Seen::default();
    look_at_object(arguments, 1, limits, &mut seen)?;
    // Nearly every request is far from the limit, whatever its text needs as escapes.
    if seen.at_most > limits.max_request_size {
        let bytes = object_length(arguments);
        if bytes > limits.max_request_size {
            return Err(too_large("request_size", limits.max_request_size, bytes, "bytes"));
        }
    }
    if !seen.nul {
        return Ok(());
    }
    let location = find_nul(arguments).map(|location| clean(&location)).unwrap_or_default();
    Err(OperationError::new(
        ErrorCode::ValidationInvalidEncoding,
        format!("Invalid character encoding in request: '{location}' holds U+0000"),
    )
    .with_detail("location", location))
}

/// What one pass over a request tells.
#[derive(Default)]
struct Seen {
    /// It is no longer than this when it is serialised.
    at_most: usize,
    /// Some text holds U+0000.
    nul: bool,
}

fn look_at_object(
    fields: &Map<String, Value>,
    depth: usize,
    limits: &Limits,
    seen: &mut Seen,
) -> Result<(), OperationError> {
    check_depth(depth, limits)?;
    seen.at_most += 2;
    for (name, value) in fields {
        look_at_text(name, limits, seen)?;
        seen.at_most += 2;
        look_at(value, depth, limits, seen)?;
    }
    Ok(())
}

fn look_at(
    value: &Value,
    depth: usize,
    limits: &Limits,
    seen: &mut Seen,
) -> Result<(), OperationError> {
    match value {
        // The longest number has a sign, 17 digits, a point and an exponent.
        Value::Null | Value::Bool(_) | Value::Number(_) => seen.at_most += 32,
        Value::String(text) => look_at_text(text, limits, seen)?,
        Value::Object(fields) => look_at_object(fields, depth + 1, limits, seen)?,
        Value::Array(values) => {
            check_depth(depth + 1, limits)?;
            if values.len() > limits.max_array_elements {
                return Err(Broken::Elements(values.len()).error(limits));
            }
            seen.at_most += 2 + values.len();
            for value in values {
                look_at(value, depth + 1, limits, seen)?;
            }
        }
    }
    Ok(())
}

fn look_at_text(text: &str, limits: &Limits, seen: &mut Seen) -> Result<(), OperationError> {
    if text.len() > limits.max_string_length {
        return Err(Broken::Text(text.len()).error(limits));
    }
    seen.at_most += text.len().saturating_mul(LONGEST_ESCAPE) + 2;
    seen.nul |= holds_nul(text);
    Ok(())
}

/// Most texts are names and short values, for which setting up a search costs more than looking.
fn holds_nul(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.len() {
        0..32 => bytes.contains(&0),
        _ => memchr::memchr(0, bytes).is_some(),
    }
}

/// `\u0001`
const LONGEST_ESCAPE: usize = 6;

/// How long an object is when it is serialised.
fn object_length(fields: &Map<String, Value>) -> usize {
    // Braces, and for each field a colon and, but for the first, a comma.
    let signs = 2 + (fields.len() * 2).saturating_sub(1);
    fields.iter().map(|(name, value)| text_length(name) + length(value)).sum::<usize>() + signs
}

fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text_length(text),
        Value::Object(fields) => object_length(fields),
        Value::Array(values) => {
            values.iter().map(length).sum::<usize>() + 2 + values.len().saturating_sub(1)
        }
    }
}

fn text_length(text: &str) -> usize {
    let escapes: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum();
    text.len() + escapes + 2
}

fn check_depth(depth: usize, limits: &Limits) -> Result<(), OperationError> {
    if depth > limits.max_nesting_depth {
        return Err(Broken::Depth(depth).error(limits));
    }
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
    Measure::new(0, limits).json(text).map_err(|broken| broken.error(limits))
}

/// A limit that is broken; small, as it is passed around for every piece of JSON.
#[derive(Debug, Clone, Copy)]
pub(super) enum Broken {
    Depth(usize),
    Elements(usize),
    Text(usize),
}

impl Broken {
    #[cold]
    pub(super) fn error(self, limits: &Limits) -> OperationError {
        match self {
            Self::Depth(depth) => {
                too_large("nesting_depth", limits.max_nesting_depth, depth, "levels")
            }
            Self::Elements(count) => {
                too_large("array_elements", limits.max_array_elements, count, "elements")
            }
            Self::Text(bytes) => {
                too_large("string_length", limits.max_string_length, bytes, "bytes")
            }
        }
    }
}

/// Counts what limits are about, of JSON that is written or read piece by piece.
pub(super) struct Measure<'a> {
    limits: &'a Limits,
    /// Objects and arrays that are open.
    depth: usize,
    /// Elements of each open array so far.
    elements: Vec<usize>,
    /// Bytes of the string so far.
    length: usize,
}

impl<'a> Measure<'a> {
    /// So many objects and arrays are open already.
    pub(super) fn new(depth: usize, limits: &'a Limits) -> Self {
        Self { limits, depth, elements: Vec::new(), length: 0 }
    }

    #[inline]
    pub(super) fn open(&mut self, array: bool) -> Result<(), Broken> {
        self.depth += 1;
        // What lies deeper is not looked at: the count tells that the limit is passed, not by how much.
        if self.depth > self.limits.max_nesting_depth {
            return Err(Broken::Depth(self.depth));
        }
        if array {
            self.elements.push(0);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn close(&mut self, array: bool) {
        self.depth = self.depth.saturating_sub(1);
        if array {
            self.elements.pop();
        }
    }

    /// Another element of the innermost array.
    #[inline]
    pub(super) fn element(&mut self) -> Result<(), Broken> {
        let Some(count) = self.elements.last_mut() else { return Ok(()) };
        *count += 1;
        if *count > self.limits.max_array_elements {
            return Err(Broken::Elements(*count));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn begin_text(&mut self) {
        self.length = 0;
    }

    #[inline]
    pub(super) fn text(&mut self, bytes: usize) {
        self.length += bytes;
    }

    #[inline]
    pub(super) fn end_text(&mut self) -> Result<(), Broken> {
        if self.length > self.limits.max_string_length {
            return Err(Broken::Text(self.length));
        }
        Ok(())
    }

    /// Valid JSON, as a whole.
    pub(super) fn json(&mut self, text: &str) -> Result<(), Broken> {
        // Whether each thing that is open is an array.
        let mut open: Vec<bool> = Vec::new();
        let mut bytes = text.bytes();
        let mut fresh = false;
        while let Some(byte) = bytes.next() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            if fresh && byte != b']' {
                self.element()?;
            }
            fresh = false;
            match byte {
                b'"' => self.quoted(&mut bytes)?,
                b'{' | b'[' => {
                    fresh = byte == b'[';
                    open.push(fresh);
                    self.open(fresh)?;
                }
                b'}' | b']' => self.close(open.pop() == Some(true)),
                b',' if open.last() == Some(&true) => self.element()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A string, up to its closing quotation mark.
    fn quoted(&mut self, bytes: &mut std::str::Bytes<'_>) -> Result<(), Broken> {
        self.begin_text();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => break,
                // An escape stands for one byte or, as `\uXXXX`, for one control character.
                b'\\' if bytes.next() == Some(b'u') => bytes.by_ref().take(4).for_each(drop),
                _ => {}
            }
            self.text(1);
        }
        self.end_text()
    }
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
            let value = value.as_object().unwrap();
            let length = Value::from(value.clone()).to_string().len();
            assert_eq!(object_length(value), length, "{value:?}");
            let mut seen = Seen::default();
            look_at_object(value, 1, &Limits::default(), &mut seen).unwrap();
            assert!(seen.at_most >= length, "{value:?}");
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
