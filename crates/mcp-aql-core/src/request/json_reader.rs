//! Parses the tool arguments of one request, and reports values that a map cannot represent.
//!
//! These are repeated members, numbers with more digits than 64 bits can hold, and lone surrogates.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use mcp_aql_protocol::ErrorCode;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::json_tokens::{JsonTokens, lone_surrogate, readable};
use crate::error::OperationError;
use crate::schema::shape::Path;
use crate::text::clean;

/// An object parsed from JSON.
#[derive(Debug, Default)]
pub struct ParsedObject {
    /// The members. Of a repeated member, the last value is kept (inside a batch item: `null`).
    pub members: Map<String, Value>,
    /// Values that could not be represented exactly. The request, or the item of the batch, is rejected.
    pub losses: Vec<Loss>,
    /// Size of the JSON in bytes. `None` if the object was not parsed from JSON.
    pub bytes: Option<usize>,
}

impl From<Map<String, Value>> for ParsedObject {
    fn from(members: Map<String, Value>) -> Self {
        Self { members, ..Self::default() }
    }
}

/// A value that could not be represented exactly.
///
/// ```text
/// {"params":{"a":1,"a":2}}  →  Parameter 'params.a' must be given once, but the request repeats it
/// {"a":1e999}               →  Parameter 'a' must not be beyond 1.8e308: send a string
/// ```
#[derive(Debug)]
pub struct Loss {
    /// Index of the batch item that contains the value.
    pub(crate) item: Option<usize>,
    /// Error for the caller.
    pub error: OperationError,
}

/// Maximum number of stored losses per request or item of a batch. Only one is reported.
const MAX_LOSSES: usize = 1;

/// Parses an object. Returns `Ok(Err(…))` with the value if it is not an object.
pub fn read(text: &str) -> serde_json::Result<Result<ParsedObject, Value>> {
    Ok(match read_value(text, None)? {
        (Value::Object(members), losses) => {
            Ok(ParsedObject { members, losses, bytes: Some(text.len()) })
        }
        (other, _) => Err(other),
    })
}

/// Parses any value. Errors refer to it by `name`.
pub fn read_value(text: &str, name: Option<&str>) -> serde_json::Result<(Value, Vec<Loss>)> {
    let first = Reader::new(None);
    let value = match first.read(text, name) {
        Ok(value) => value,
        Err(error) => match readable(text) {
            Cow::Owned(readable) => return Reader::new(Some(text)).finish(&readable, name),
            Cow::Borrowed(_) => return Err(error),
        },
    };
    let is_exact = |(_, token): (usize, &str)| token.starts_with('"') || is_short(token);
    if !first.floats.get() || JsonTokens::behind(text, 0).all(is_exact) {
        return Ok((value, first.losses.into_inner()));
    }
    // In rare cases, a number may have more digits than a value can represent. The JSON is then parsed again, and
    // each number is compared with its source.
    Reader::new(Some(text)).finish(text, name)
}

/// Returns `true` if the number has so few digits that every parser reads it exactly.
fn is_short(number: &str) -> bool {
    number.len() <= 16 && !number.contains(['e', 'E'])
}

struct Reader<'a> {
    losses: RefCell<Vec<Loss>>,
    /// Set when a number is not an integer of 64 bits.
    floats: Cell<bool>,
    /// The JSON as it was sent, if its strings and numbers are to be checked.
    sent: Option<&'a str>,
    /// Position in the JSON after the strings and numbers parsed until now.
    position: Cell<usize>,
}

impl<'a> Reader<'a> {
    fn new(sent: Option<&'a str>) -> Self {
        Self {
            losses: RefCell::default(),
            floats: Cell::default(),
            sent,
            position: Cell::default(),
        }
    }

    fn read(&self, text: &str, name: Option<&str>) -> serde_json::Result<Value> {
        let mut source = serde_json::Deserializer::from_str(text);
        let path = name.map(Path::Root);
        let value = ValueReader { reader: self, path: path.as_ref() }.deserialize(&mut source)?;
        source.end()?;
        Ok(value)
    }

    fn finish(self, text: &str, name: Option<&str>) -> serde_json::Result<(Value, Vec<Loss>)> {
        let value = self.read(text, name)?;
        Ok((value, self.losses.into_inner()))
    }

    /// Returns the next string or number as it was sent, and its position.
    fn next_sent(&self) -> Option<(usize, &'a str)> {
        let (start, token) = JsonTokens::behind(self.sent?, self.position.get()).next()?;
        self.position.set(start + token.len());
        Some((start, token))
    }

    /// Checks the string parsed last. It is the name or the value of the member at this path.
    fn check_string(&self, path: Option<&Path<'_>>) {
        if let Some((start, token)) = self.next_sent()
            && let Some(place) = lone_surrogate(token)
        {
            self.lose(path, |path| invalid_encoding(start + place).with_detail("location", path));
        }
    }

    /// Records that the value at this path could not be represented exactly.
    #[cold]
    fn lose(&self, path: Option<&Path<'_>>, error: impl FnOnce(&str) -> OperationError) {
        let item = path.and_then(item_of);
        let mut losses = self.losses.borrow_mut();
        if losses.iter().filter(|loss| loss.item == item).count() < MAX_LOSSES {
            let path = path.map(|path| clean(&path.to_string())).unwrap_or_default();
            losses.push(Loss { item, error: error(&path) });
        }
    }
}

/// Returns the index of the batch item that a path refers to.
fn item_of(path: &Path<'_>) -> Option<usize> {
    match path {
        Path::Root(_) => None,
        Path::Item(Path::Root("operations"), index) => Some(*index),
        Path::Field(parent, _) | Path::Item(parent, _) => item_of(parent),
    }
}

const REPEATED: &str = "must be given once, but the request repeats it";
const TOO_PRECISE: &str =
    "must fit into a 64-bit number without losing digits: send fewer digits, or a string";
const TOO_LARGE: &str = "must not be beyond 1.8e308: send a string";

/// The value to be parsed next, and its path.
#[derive(Clone, Copy)]
struct ValueReader<'a> {
    reader: &'a Reader<'a>,
    path: Option<&'a Path<'a>>,
}

impl ValueReader<'_> {
    fn number(self, value: Value) -> Value {
        let Some((_, text)) = self.reader.next_sent() else { return value };
        if !value.is_f64() {
            return value;
        }
        let nearest = text.parse::<f64>().unwrap_or(f64::INFINITY);
        if keeps_digits(text, nearest) {
            return nearest.into();
        }
        let problem = if nearest.is_finite() { TOO_PRECISE } else { TOO_LARGE };
        self.reader.lose(self.path, |path| OperationError::invalid_value(path, problem));
        // Keep all digits as a string, so that error messages can show them.
        text.into()
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        self.reader.floats.set(true);
        Ok(self.number(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        self.reader.check_string(self.path);
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        self.reader.check_string(self.path);
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            let path = self.path.map(|path| Path::Item(path, values.len()));
            let place = ValueReader { reader: self.reader, path: path.as_ref() };
            match source.next_element_seed(place)? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = source.next_key::<String>()? {
            let path = self.path.map_or(Path::Root(&name), |path| Path::Field(path, &name));
            self.reader.check_string(Some(&path));
            let place = ValueReader { reader: self.reader, path: Some(&path) };
            let mut value = source.next_value_seed(place)?;
            if members.contains_key(&name) {
                let error = |path: &str| OperationError::invalid_value(path, REPEATED);
                self.reader.lose(Some(&path), error);
                if item_of(&path).is_some() {
                    // A reply that shows the item or names its operation must not choose one of the values.
                    value = Value::Null;
                }
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

/// Returns `true` if the nearest 64-bit number has the same digits as the source when it is written again.
fn keeps_digits(text: &str, nearest: f64) -> bool {
    if !nearest.is_finite() {
        return false;
    }
    let unsigned = text.trim_start_matches('-');
    if !unsigned.contains(['.', 'e', 'E']) {
        return nearest.abs().to_string() == unsigned;
    }
    // A 64-bit number has at most 767 significant digits.
    const MAX_DIGITS: usize = 767;
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return digits.is_empty();
    }
    // With the same number of digits, the number must be equal to the source.
    let written = format!("{:.*e}", digits.len() - 1, nearest.abs());
    let written = written.split('e').next().unwrap_or_default();
    written.chars().filter(char::is_ascii_digit).eq(digits.chars())
}

/// Returns the error for a request with invalid UTF-8. `byte_offset` is the position of the first invalid byte.
pub fn invalid_encoding(byte_offset: usize) -> OperationError {
    OperationError::new(
        ErrorCode::ValidationInvalidEncoding,
        format!(
            "Invalid character encoding in request: byte {byte_offset} does not start a valid UTF-8 character"
        ),
    )
    .with_detail("byte_offset", byte_offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Returns the losses of a request: the batch item, and the message.
    fn losses(text: &str) -> Vec<(Option<usize>, String)> {
        let arguments = read(text).unwrap().unwrap();
        arguments
            .losses
            .into_iter()
            .map(|loss| (loss.item, loss.error.message().to_owned()))
            .collect()
    }

    #[test]
    fn repeated_names_are_found_wherever_they_are() {
        for (text, item, path) in [
            (r#"{"operation":"a","operation":"b"}"#, None, "operation"),
            (r#"{"operation":"a","\u006fperation":"b"}"#, None, "operation"),
            (r#"{"params":{"a":1,"a":1}}"#, None, "params.a"),
            (r#"{"params":{"a":[{},{"b":{"c":1,"c":2}}]}}"#, None, "params.a[1].b.c"),
            (
                r#"{"operations":[{},{"operation":"a","operation":"b"}]}"#,
                Some(1),
                "operations[1].operation",
            ),
            (r#"{"operations":[],"operations":[]}"#, None, "operations"),
            (r#"{"a":{"operations":[{"b":1,"b":2}]}}"#, None, "a.operations[0].b"),
            (r#"{"_meta":{"a":1,"a":1}}"#, None, "_meta.a"),
        ] {
            let message = format!("Parameter '{path}' {REPEATED}");
            assert_eq!(losses(text), [(item, message)], "{text}");
        }
        assert_eq!(losses(r#"{"a":{"b":1},"c":{"b":1},"d":[{"b":1},{"b":1}]}"#), []);
        let many = r#"{"a":1,"a":1,"b":1,"b":1,"operations":[{"c":1,"c":1,"d":1,"d":1}]}"#;
        assert_eq!(losses(many).len(), 2, "one for the request and one for the item");
    }

    #[test]
    fn numbers_are_kept_or_found() {
        // REQ-ENC-05
        for (number, is_kept) in [
            ("0", true),
            ("-0", true),
            ("0.0", true),
            ("9223372036854775807", true),
            ("-9223372036854775808", true),
            ("18446744073709551615", true),
            ("18446744073709551616", false),
            ("-9223372036854775809", false),
            ("123456789012345678901234567890", false),
            ("100000000000000000000001", false),
            ("10000000000000000000000", true),
            ("1e22", true),
            ("1E+300", true),
            ("0.1", true),
            ("1.10", true),
            ("0.10000000000000001", true),
            ("0.1000000000000000055511151231257827021181583404541015625", true),
            ("0.30000000000000004", true),
            ("3.141592653589793", true),
            ("3.14159265358979323846", false),
            ("9.007199254740993", true),
            ("9007199254740993.0", false),
            ("1234567890.12345678901", false),
            ("1e-400", false),
            ("4.9e-324", true),
            ("1.7976931348623157e308", true),
        ] {
            let text = format!(r#"{{"x":["1e999\" 3",0.5],"n":{number}}}"#);
            let found = losses(&text);
            assert_eq!(found.is_empty(), is_kept, "{number}: {found:?}");
            if !is_kept {
                assert_eq!(found, [(None, format!("Parameter 'n' {TOO_PRECISE}"))]);
                let members = read(&text).unwrap().unwrap().members;
                assert_eq!(members["n"], number, "its sender sees what was sent");
            }
        }
        let long = format!("0.{}1", "3".repeat(100_000));
        assert_eq!(losses(&format!(r#"{{"n":{long}}}"#)).len(), 1);
    }

    #[test]
    fn a_value_that_is_no_object_is_handed_back() {
        assert_eq!(read("[1.5]").unwrap().unwrap_err(), json!([1.5]));
        assert!(read("{} x").is_err());
        assert!(read(r#"{"a":1e999,}"#).is_err());
    }

    #[test]
    fn values_that_no_parser_reads_are_marked_and_the_others_are_read() {
        // REQ-ENC-01, REQ-ENC-05, REQ-BAT-02
        let large = format!("9{}", "0".repeat(400));
        for (value, path, problem) in [
            ("1e999", "a", TOO_LARGE),
            ("[0.5,-1E+400]", "a[1]", TOO_LARGE),
            (&large, "a", TOO_LARGE),
            (r#""\\ud800\ud800""#, "a", "byte 39"),
            (r#"{"b\udc00":[1e5]}"#, "a.b", "byte 34"),
        ] {
            let text = format!(
                r#"{{"operations":[{{"b":"é"}},{{"a":{value},"c":"\u00e9\""}},{{"d":1e9}}]}}"#
            );
            let arguments = read(&text).unwrap().unwrap();
            let [loss] = &arguments.losses[..] else { panic!("{text}: {:?}", arguments.losses) };
            assert_eq!(loss.item, Some(1), "{text}");
            let error = serde_json::to_string(&loss.error).unwrap();
            assert!(error.contains(&format!("operations[1].{path}")), "{error}");
            assert!(error.contains(problem), "{error}");
            let items = &arguments.members["operations"];
            assert_eq!((&items[0], &items[2]), (&json!({ "b": "é" }), &json!({ "d": 1e9 })));
            assert_eq!(items[1]["c"], "é\"", "{text}");
        }
    }

    #[test]
    fn neither_value_of_a_repeated_member_is_kept_in_an_item() {
        // REQ-BAT-02
        let text = r#"{"operations":[{"operation":"a","operation":"b","params":{"x":1,"x":2}}]}"#;
        let members = read(text).unwrap().unwrap().members;
        let kept = json!([{ "operation": null, "params": { "x": null } }]);
        assert_eq!(members["operations"], kept);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Value::from),
            "[a-z0-9\"\\\\é.-]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"0-9]{0,5}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_a_program_writes_is_read_without_loss(value in any_json()) {
            // REQ-ENC-05
            let text = json!({ "a": value }).to_string();
            let read = read(&text).unwrap().unwrap();
            prop_assert!(read.losses.is_empty(), "{:?}", read.losses);
            // Comparing the JSON includes every digit.
            prop_assert_eq!(Value::from(read.members).to_string(), text);
        }

        #[test]
        fn seventeen_digits_are_enough_for_any_number(
            value in any::<f64>().prop_filter("finite", |it| it.is_finite()),
        ) {
            // REQ-ENC-05
            let text = format!(r#"{{"a":{value:.16e}}}"#);
            let read = read(&text).unwrap().unwrap();
            prop_assert!(read.losses.is_empty(), "{text}");
            prop_assert_eq!(read.members["a"].as_f64(), Some(value));
        }

        #[test]
        fn long_integers_are_kept_or_refused(digits in "[1-9][0-9]{17,40}") {
            // REQ-ENC-05
            let read = read(&format!(r#"{{"a":{digits}}}"#)).unwrap().unwrap();
            let is_kept = read.losses.is_empty();
            let written = match read.members["a"].as_f64().filter(|_| read.members["a"].is_f64()) {
                Some(float) => float.to_string(),
                None => read.members["a"].to_string(),
            };
            prop_assert!(!is_kept || written == digits, "{digits} became {written}");
        }
    }
}
