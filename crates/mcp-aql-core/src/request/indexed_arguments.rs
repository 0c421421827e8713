//! The tool arguments of a call in its usual form, as text with the positions of their members.

use std::ops::Range;

use mcp_aql_protocol::Limits;
use serde_json::Value;

use super::json_reader::read_value;
use super::limits::parameter_fits;
use super::scanner::Scanner;

/// The number of parameters for which space is reserved.
const USUAL_PARAMETERS: usize = 4;

/// The positions of the operation's name and of the parameters in the text of tool arguments.
#[derive(Debug)]
pub struct ArgumentsIndex {
    operation: Range<usize>,
    /// The positions of each name and its value.
    params: Vec<(Range<usize>, Range<usize>)>,
}

impl ArgumentsIndex {
    /// Reads tool arguments. Returns their position, and their index if they have the usual form: an
    /// object with `operation` and `params` only. Returns `None` for text that the scanner does not
    /// accept.
    pub fn scan(scanner: &mut Scanner<'_>) -> Option<(Range<usize>, Option<Self>)> {
        let start = scanner.position();
        let (mut operation, mut params, mut is_usual) = (None, None, true);
        scanner.object(|scanner, name| {
            match scanner.slice(name) {
                "operation" if operation.is_none() => operation = Some(scanner.plain_string()?),
                "params" if params.is_none() => {
                    let params = params.insert(Vec::with_capacity(USUAL_PARAMETERS));
                    scanner.object(|scanner, name| {
                        params.push((name, scanner.value()?));
                        Some(())
                    })?;
                }
                _ => {
                    is_usual = false;
                    scanner.value()?;
                }
            }
            Some(())
        })?;
        let end = scanner.position();
        let index = operation.filter(|_| is_usual).map(|operation| {
            let relative = |range: Range<usize>| range.start - start..range.end - start;
            let params = params.unwrap_or_default().into_iter();
            let params = params.map(|(name, value)| (relative(name), relative(value))).collect();
            Self { operation: relative(operation), params }
        });
        Some((start..end, index))
    }

    /// Returns the name of the operation in the text of the arguments.
    pub fn operation<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.operation.clone()).unwrap_or_default()
    }
}

/// The text of tool arguments with the positions of their members.
#[derive(Debug)]
pub struct IndexedArguments {
    text: Box<str>,
    index: ArgumentsIndex,
}

impl IndexedArguments {
    /// Takes the text of tool arguments with its index.
    pub fn new(text: Box<str>, index: ArgumentsIndex) -> Self {
        Self { text, index }
    }

    /// Reads a whole text, if it has the usual form.
    pub(crate) fn scan(text: &str) -> Option<Self> {
        let mut scanner = Scanner::new(text)?;
        let (range, index) = ArgumentsIndex::scan(&mut scanner)?;
        scanner.end()?;
        Some(Self::new(scanner.slice(range).into(), index?))
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name of the operation.
    pub fn operation(&self) -> &str {
        self.index.operation(&self.text)
    }

    /// Returns the names of the parameters with the JSON text of their values.
    pub(crate) fn params(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.index.params.iter().map(|(name, value)| (self.slice(name), self.slice(value)))
    }

    /// Whether the request certainly keeps to the limits, apart from those inside its parameters.
    /// No string is longer than the text, and the serialized request is not longer either.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.text.len() <= limits.max_request_size.min(limits.max_string_length)
            && limits.max_nesting_depth >= 2
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// Reads the value of a parameter that the scanner has accepted. Returns `None` if the value repeats
/// a member, or exceeds a limit.
pub(crate) fn read_parameter(name: &str, text: &str, limits: &Limits) -> Option<Value> {
    match text.as_bytes() {
        [b'{' | b'[', ..] => {
            let (value, losses) = read_value(text, Some(name)).ok()?;
            (losses.is_empty() && parameter_fits(&value, limits)).then_some(value)
        }
        [b'"', content @ .., b'"'] if !content.contains(&b'\\') => {
            text.get(1..text.len() - 1).map(Value::from)
        }
        [b't', ..] => Some(Value::Bool(true)),
        [b'f', ..] => Some(Value::Bool(false)),
        [b'n', ..] => Some(Value::Null),
        [b'0'..=b'9', rest @ ..] if !rest.contains(&b'.') => {
            text.parse::<u64>().ok().map(Value::from)
        }
        _ => serde_json::from_str(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request, decode, parse};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn only_the_usual_form_has_an_index() {
        // REQ-RQ-01, REQ-RQ-03
        let found =
            IndexedArguments::scan(r#" { "params": {"a": 1, "b": "x"}, "operation": "get" } "#)
                .unwrap();
        assert_eq!(found.operation(), "get");
        assert_eq!(found.params().collect::<Vec<_>>(), [("a", "1"), ("b", r#""x""#)]);
        assert_eq!(IndexedArguments::scan(r#"{"operation":"get"}"#).unwrap().params().len(), 0);
        for text in [
            "{}",
            r#"{"params":{}}"#,
            r#"{"operation":"get","a":1}"#,
            r#"{"operation":"get","_meta":{}}"#,
            r#"{"operations":[]}"#,
            r#"{"operation":"get","operation":"get"}"#,
            r#"{"operation":"get","params":{},"params":{}}"#,
            r#"{"operation":7}"#,
            r#"{"operation":"get","params":[]}"#,
            r#"{"operation":"get","params":null}"#,
        ] {
            assert!(IndexedArguments::scan(text).is_none(), "{text}");
        }
    }

    /// Values of all kinds, some of which exceed the limits of the test.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1_000_i32..1_000).prop_map(|number| json!(f64::from(number) / 8.0)),
            "\\PC{0,40}|[a\u{0}-\u{20}\"\\\\]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-c]", inner, 0..3)
                    .prop_map(|members| members.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn indexed_parameters_are_those_of_the_decoded_request(
            params in proptest::collection::btree_map("[a-f]{1,2}", value(), 0..5)
        ) {
            // REQ-ENC-05, REQ-ENC-10 to REQ-ENC-12
            let limits = Limits {
                max_request_size: 160,
                max_string_length: 120,
                max_array_elements: 3,
                max_nesting_depth: 4,
                ..Limits::default()
            };
            let params: Value = params.into_iter().collect();
            let text = json!({ "operation": "get", "params": params }).to_string();
            let Some(found) = IndexedArguments::scan(&text).filter(|found| found.fits(&limits)) else {
                return Ok(());
            };
            let read = |(name, text)| Some((name, read_parameter(name, text, &limits)?));
            let Some(values) = found.params().map(read).collect::<Option<Vec<_>>>() else {
                return Ok(());
            };
            let decoded = decode(parse(text.as_bytes(), &limits).unwrap(), true, &limits);
            let Ok(Request::One(input)) = decoded else {
                return Err(TestCaseError::fail(format!("refused: {text}")));
            };
            let values: serde_json::Map<String, Value> =
                values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            prop_assert_eq!(Value::from(values), Value::from(input.params));
        }
    }
}
