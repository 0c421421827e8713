//! Enforces the size limits of requests.

use std::collections::{BTreeMap, BTreeSet};

use mcp_aql_protocol::ErrorCode;
use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

use super::json_reader::ParsedObject;
use crate::error::OperationError;
use crate::schema::shape::Path;
use crate::text::clean;

/// Maximum nesting depth of serde_json. The limit of an adapter is never higher.
pub(super) const PARSED_DEPTH: usize = 127;

/// Creates the error for an exceeded size limit (REQ-ENC-13).
pub fn too_large(
    limit_type: &str,
    limit_value: usize,
    actual_value: usize,
    unit: &str,
) -> OperationError {
    let step = match limit_type {
        "request_size" => ". Send less data, or use several calls",
        "array_elements" => ". Send a shorter list, or use several calls",
        "string_length" => ". Send a shorter string",
        "nesting_depth" => ". Use fewer levels",
        _ => "",
    };
    OperationError::new(
        ErrorCode::ValidationPayloadTooLarge,
        format!("Payload exceeds {limit_type} limit of {limit_value} {unit}{step}"),
    )
    .with_detail("limit_type", limit_type)
    .with_detail("limit_value", limit_value)
    .with_detail("actual_value", actual_value)
    .with_detail("unit", unit)
}

/// The errors of a whole request, and of single items of a batch.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) whole: Option<OperationError>,
    pub(crate) items: BTreeMap<usize, OperationError>,
    /// Items that contain a value that could not be represented exactly.
    pub(crate) altered: BTreeSet<usize>,
}

impl Findings {
    fn add(&mut self, item: Option<usize>, error: OperationError) {
        match item {
            None => drop(self.whole.get_or_insert(error)),
            Some(index) => drop(self.items.entry(index).or_insert(error)),
        }
    }
}

/// Checks a request against the limits. Also finds U+0000 in strings, and values lost by the parser (REQ-ENC-02,
/// REQ-ENC-05, REQ-ENC-08, REQ-ENC-10 to REQ-ENC-12).
///
/// The limited size is that of the serialized tool arguments. Errors inside an item of a batch belong to that item
/// (REQ-BAT-02).
pub(crate) fn check_request(arguments: &mut ParsedObject, limits: &SizeLimits) -> Findings {
    let members = &arguments.members;
    let mut findings = Findings::default();
    let mut at_most = 2_usize;
    let mut note = |item, measured: Result<usize, OperationError>| match measured {
        Ok(bytes) => at_most = at_most.saturating_add(bytes),
        Err(error) => {
            at_most = usize::MAX;
            findings.add(item, error);
        }
    };
    for (name, value) in members {
        let path = Path::Root(name);
        match value {
            Value::Array(items) if name == "operations" => {
                let list = check_list(items, 2, limits).map(|()| name.len() + 6 + items.len());
                note(None, list.map_err(|broken| broken.located(name, value, path, limits)));
                for (index, item) in items.iter().enumerate() {
                    note(Some(index), examine("", item, Path::Item(&path, index), limits));
                }
            }
            _ => note(None, examine(name, value, path, limits)),
        }
    }
    // The exact size is only computed if the upper bound exceeds the limit. Most requests are far below it, even if
    // every character needed an escape.
    if at_most > limits.max_request_size {
        let bytes = object_length(members, 1);
        let is_first =
            |error: &OperationError| error.code() == ErrorCode::ValidationPayloadTooLarge;
        if bytes > limits.max_request_size && !findings.whole.as_ref().is_some_and(is_first) {
            let error = too_large("request_size", limits.max_request_size, bytes, "bytes");
            findings.whole = Some(error);
        }
    }
    for loss in arguments.losses.drain(..) {
        findings.altered.extend(loss.item);
        findings.add(loss.item, loss.error);
    }
    findings
}

/// Checks a member of a request, or an item of a batch. Returns an upper bound of the length of its serialized form.
fn examine(
    name: &str,
    value: &Value,
    path: Path<'_>,
    limits: &SizeLimits,
) -> Result<usize, OperationError> {
    let mut seen = Seen::default();
    let measured = look_at_text(name, limits, &mut seen)
        .and_then(|()| look_at(value, depth_of(path), limits, &mut seen));
    match measured {
        Ok(()) if seen.nul => Err(Broken::Nul.located(name, value, path, limits)),
        Ok(()) => Ok(seen.at_most + 2),
        Err(broken) => Err(broken.located(name, value, path, limits)),
    }
}

/// Returns `true` if the value of a parameter keeps to the limits and contains no U+0000.
pub(super) fn parameter_fits(value: &Value, limits: &SizeLimits) -> bool {
    let mut seen = Seen::default();
    look_at(value, PARAMETER_DEPTH, limits, &mut seen).is_ok() && !seen.nul
}

/// Number of objects around a parameter: the tool arguments and `params`.
const PARAMETER_DEPTH: usize = 2;

/// Returns the number of objects and arrays around a member of the request or an item of a batch.
fn depth_of(path: Path<'_>) -> usize {
    if matches!(path, Path::Item(..)) { 2 } else { 1 }
}

fn nul_error(location: String) -> OperationError {
    OperationError::new(
        ErrorCode::ValidationInvalidEncoding,
        format!("Invalid character encoding in request: '{location}' contains U+0000"),
    )
    .with_detail("location", location)
}

/// The result of one pass over a value.
#[derive(Default)]
struct Seen {
    /// Upper bound of the length of the serialized value.
    at_most: usize,
    /// If `true`, a string contains U+0000.
    nul: bool,
}

fn look_at(
    value: &Value,
    depth: usize,
    limits: &SizeLimits,
    seen: &mut Seen,
) -> Result<(), Broken> {
    match value {
        // The longest number has a sign, 17 digits, a point and an exponent.
        Value::Null | Value::Bool(_) | Value::Number(_) => seen.at_most += 32,
        Value::String(text) => look_at_text(text, limits, seen)?,
        Value::Object(fields) => {
            check_depth(depth + 1, limits)?;
            seen.at_most += 2;
            for (name, value) in fields {
                look_at_text(name, limits, seen)?;
                seen.at_most += 2;
                look_at(value, depth + 1, limits, seen)?;
            }
        }
        Value::Array(values) => {
            check_list(values, depth + 1, limits)?;
            seen.at_most += 2 + values.len();
            for value in values {
                look_at(value, depth + 1, limits, seen)?;
            }
        }
    }
    Ok(())
}

fn check_list(values: &[Value], depth: usize, limits: &SizeLimits) -> Result<(), Broken> {
    check_depth(depth, limits)?;
    if values.len() > limits.max_array_elements {
        return Err(Broken::Elements(values.len()));
    }
    Ok(())
}

fn look_at_text(text: &str, limits: &SizeLimits, seen: &mut Seen) -> Result<(), Broken> {
    if text.len() > limits.max_string_length {
        return Err(Broken::Text(text.len()));
    }
    seen.at_most += text.len().saturating_mul(MAX_ESCAPE_BYTES) + 2;
    seen.nul |= holds_nul(text);
    Ok(())
}

/// Returns `true` if the string contains U+0000. Most strings are short, and for these a plain loop is faster than
/// `memchr`.
fn holds_nul(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.len() {
        0..32 => bytes.contains(&0),
        _ => memchr::memchr(0, bytes).is_some(),
    }
}

/// Length of `\u0001` in bytes.
const MAX_ESCAPE_BYTES: usize = 6;

/// Returns the length of a serialized object. Values nested deeper than any parser accepts do not count, so that the
/// recursion is bounded.
fn object_length(fields: &Map<String, Value>, depth: usize) -> usize {
    // Braces, a colon for each field, and a comma for each field except the first.
    let signs = 2 + (fields.len() * 2).saturating_sub(1);
    fields.iter().map(|(name, value)| text_length(name) + length(value, depth)).sum::<usize>()
        + signs
}

fn length(value: &Value, depth: usize) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text_length(text),
        Value::Object(_) | Value::Array(_) if depth >= PARSED_DEPTH => 2,
        Value::Object(fields) => object_length(fields, depth + 1),
        Value::Array(values) => {
            values.iter().map(|value| length(value, depth + 1)).sum::<usize>()
                + 2
                + values.len().saturating_sub(1)
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

fn check_depth(depth: usize, limits: &SizeLimits) -> Result<(), Broken> {
    if depth > limits.max_nesting_depth { Err(Broken::Depth(depth)) } else { Ok(()) }
}

/// A limit exceeded by a request. The type is small, because it is returned for every value.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Depth(usize),
    Elements(usize),
    Text(usize),
    Nul,
}

impl Broken {
    /// Creates the error, with the path of the first value that exceeds the limit.
    #[cold]
    fn located(
        self,
        name: &str,
        value: &Value,
        path: Path<'_>,
        limits: &SizeLimits,
    ) -> OperationError {
        let error = match self {
            Self::Depth(depth) => {
                too_large("nesting_depth", limits.max_nesting_depth, depth, "levels")
            }
            Self::Elements(count) => {
                too_large("array_elements", limits.max_array_elements, count, "elements")
            }
            Self::Text(bytes) => {
                too_large("string_length", limits.max_string_length, bytes, "bytes")
            }
            Self::Nul => return nul_error(path_of_violation(self, name, value, path, limits)),
        };
        error.with_detail("location", path_of_violation(self, name, value, path, limits))
    }
}

/// Returns the path of the first value with this violation. `name` and `value` are those of a member.
fn path_of_violation(
    broken: Broken,
    name: &str,
    value: &Value,
    path: Path<'_>,
    limits: &SizeLimits,
) -> String {
    let wrong_text = |text: &str| match broken {
        Broken::Nul => text.contains('\0'),
        Broken::Text(_) => text.len() > limits.max_string_length,
        Broken::Depth(_) | Broken::Elements(_) => false,
    };
    let wrong_list = |values: &[Value]| {
        matches!(broken, Broken::Elements(_)) && values.len() > limits.max_array_elements
    };
    let deepest = match broken {
        Broken::Depth(depth) => depth,
        _ => usize::MAX,
    };
    let search = LimitSearch { wrong_text: &wrong_text, wrong_list: &wrong_list, deepest };
    let found = if wrong_text(name) {
        Some(path.to_string())
    } else {
        search.find(value, path, depth_of(path))
    };
    clean(&found.unwrap_or_default())
}

/// Searches for the first value with a violation.
struct LimitSearch<'a> {
    wrong_text: &'a dyn Fn(&str) -> bool,
    wrong_list: &'a dyn Fn(&[Value]) -> bool,
    deepest: usize,
}

impl LimitSearch<'_> {
    fn find(&self, value: &Value, path: Path<'_>, depth: usize) -> Option<String> {
        if (value.is_array() || value.is_object()) && depth + 1 >= self.deepest {
            return Some(path.to_string());
        }
        match value {
            Value::String(text) => (self.wrong_text)(text).then(|| path.to_string()),
            Value::Array(values) if (self.wrong_list)(values) => Some(path.to_string()),
            Value::Array(values) => values
                .iter()
                .enumerate()
                .find_map(|(index, value)| self.find(value, Path::Item(&path, index), depth + 1)),
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                let at = Path::Field(&path, name);
                if (self.wrong_text)(name) {
                    return Some(at.to_string());
                }
                self.find(value, at, depth + 1)
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn limits() -> SizeLimits {
        SizeLimits {
            max_request_size: 200,
            max_response_size: 200,
            max_string_length: 10,
            max_array_elements: 3,
            max_nesting_depth: 4,
            ..SizeLimits::default()
        }
    }

    fn checked(value: &Value) -> Result<(), OperationError> {
        let mut arguments = ParsedObject::from(value.as_object().unwrap().clone());
        let findings = check_request(&mut arguments, &limits());
        assert!(findings.items.is_empty());
        findings.whole.map_or(Ok(()), Err)
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
    fn every_limit_holds_for_requests() {
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
            assert_eq!(limit_type(checked(&value)).as_deref(), expected, "{shows}");
        }
        let long = json!({"a": ["0123456789", "0123456789", "0123456789"], "b": {"c": ["0123456789", "0123456789", "0123456789"]}});
        let long = json!({"x": long, "y": long, "z": long});
        assert_eq!(limit_type(checked(&long)).as_deref(), Some("request_size"));
    }

    #[test]
    fn a_limit_is_refused_with_the_place_where_it_is_exceeded() {
        // REQ-ENC-10 to REQ-ENC-13
        for (value, location) in [
            (json!({"a": {"b": {"c": {"d": {}}}}}), "a.b.c.d"),
            (json!({"a": 1, "b": [[], [[[]]]]}), "b[1][0][0]"),
            (json!({"a": [1, {"b": [1, 2, 3, 4]}]}), "a[1].b"),
            (json!({"a": {"b": ["x", "0123456789x"]}}), "a.b[1]"),
            (json!({"0123456789x": 1}), "0123456789x"),
        ] {
            let error = checked(&value).unwrap_err();
            assert_eq!(error.details()["location"], location, "{value}");
        }
    }

    #[test]
    fn faults_of_items_are_found_beside_faults_of_the_batch() {
        // REQ-BAT-02, REQ-ENC-02, REQ-ENC-10 to REQ-ENC-12
        let items = json!([
            {"a": "\u{0}"}, {"a": 1}, {"a": {"b": {}}}, {"a": "0123456789x"}, [[[]]], {"a": [1, 2, 3, 4]}
        ]);
        let limits = SizeLimits { max_array_elements: 10, max_string_length: 10, ..limits() };
        let mut arguments =
            ParsedObject::from(json!({ "operations": items }).as_object().unwrap().clone());
        let findings = check_request(&mut arguments, &limits);
        assert!(findings.whole.is_none());
        let found: Vec<_> = findings
            .items
            .iter()
            .map(|(index, error)| {
                (*index, error.details()["location"].as_str().unwrap_or_default())
            })
            .collect();
        assert_eq!(
            found,
            [
                (0, "operations[0].a"),
                (2, "operations[2].a.b"),
                (3, "operations[3].a"),
                (4, "operations[4][0][0]"),
            ]
        );
        // A request above the size limit is rejected completely, even if its items contain errors as well.
        let long = json!({ "operations": ["x".repeat(11), "y".repeat(200)] });
        let mut arguments = ParsedObject::from(long.as_object().unwrap().clone());
        let whole = check_request(&mut arguments, &limits).whole;
        assert_eq!(whole.unwrap().details()["limit_type"], "request_size");
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
            assert_eq!(object_length(value, 1), length, "{value:?}");
            let at_most: usize = value
                .iter()
                .map(|(name, value)| {
                    examine(name, value, Path::Root(name), &SizeLimits::default()).unwrap()
                })
                .sum();
            assert!(at_most + 2 >= length, "{value:?}");
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
            let error = checked(&value).unwrap_err();
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
        let mut arguments = ParsedObject::from(arguments);
        let whole = check_request(&mut arguments, &SizeLimits::default()).whole;
        assert_eq!(whole.unwrap().details()["limit_type"], "nesting_depth");
        // Dropping a value of this depth would recurse too, so it is dropped level by level.
        let mut inner = arguments.members.remove("a").unwrap();
        while let Value::Array(mut values) = inner {
            inner = values.pop().unwrap();
        }
    }
}
