//! The tool arguments of a call in its usual form, as the texts of their members.

use mcp_aql_protocol::Limits;
use serde_json::{Map, Value};

use super::decode::{Credentials, OperationInput};
use super::json_reader::read_value;
use super::limits::parameter_fits;
use super::scanner::Scanner;

/// The number of parameters for which space is reserved.
const USUAL_PARAMETERS: usize = 6;

/// The texts of the operation's name and of the parameters in tool arguments.
#[derive(Debug)]
pub struct IndexedArguments<'a> {
    text: &'a str,
    operation: &'a str,
    /// The name of each parameter with the JSON text of its value.
    params: Vec<(&'a str, &'a str)>,
}

impl<'a> IndexedArguments<'a> {
    /// Reads tool arguments. Returns their text, and their members if they have the usual form: an object
    /// with `operation` and `params` only. Returns `None` for text that the scanner does not accept.
    pub fn read(scanner: &mut Scanner<'a>) -> Option<(&'a str, Option<Self>)> {
        let start = scanner.position();
        let (mut operation, mut params, mut is_usual) = (None, None, true);
        scanner.object(|scanner, name| {
            match name {
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
        let text = scanner.text_since(start);
        let arguments = operation.filter(|_| is_usual).map(|operation| Self {
            text,
            operation,
            params: params.unwrap_or_default(),
        });
        Some((text, arguments))
    }

    /// Reads a whole text, if it has the usual form.
    pub fn scan(text: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(text)?;
        let (_, arguments) = Self::read(&mut scanner)?;
        scanner.end()?;
        arguments
    }

    /// Returns the text of the arguments.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the name of the operation.
    pub fn operation(&self) -> &'a str {
        self.operation
    }

    /// Returns the names of the parameters with the JSON text of their values.
    pub(crate) fn params(&self) -> &[(&'a str, &'a str)] {
        &self.params
    }

    /// Whether the request certainly keeps to the limits, apart from those inside its parameters.
    /// No string is longer than the text, and the serialized request is not longer either.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.text.len() <= limits.max_request_size.min(limits.max_string_length)
            && limits.max_nesting_depth >= 2
    }

    /// Reads all parameters. Returns `None` if only the parser can read the request or find its faults.
    pub(crate) fn to_input(&self, limits: &Limits) -> Option<OperationInput> {
        if self.operation.is_empty() || !self.fits(limits) {
            return None;
        }
        let mut params = Map::new();
        for (name, text) in &self.params {
            let value = read_parameter(name, text, limits)?;
            // These names are metadata or tokens, not parameters.
            if name.starts_with('_') || params.insert((*name).to_owned(), value).is_some() {
                return None;
            }
        }
        let credentials = Credentials::default();
        Some(OperationInput { operation: self.operation.to_owned(), params, credentials })
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
    fn only_the_usual_form_is_indexed() {
        // REQ-RQ-01, REQ-RQ-03
        let found =
            IndexedArguments::scan(r#" { "params": {"a": 1, "b": "x"}, "operation": "get" } "#)
                .unwrap();
        assert_eq!(found.operation(), "get");
        assert_eq!(found.params(), [("a", "1"), ("b", r#""x""#)]);
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
            params in proptest::collection::btree_map("_?[a-f]{1,2}", value(), 0..5)
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
            let found = IndexedArguments::scan(&text).and_then(|found| found.to_input(&limits));
            let Some(found) = found else { return Ok(()) };
            let decoded = decode(parse(text.as_bytes(), &limits).unwrap(), true, &limits);
            let Ok(Request::One(input)) = decoded else {
                return Err(TestCaseError::fail(format!("refused: {text}")));
            };
            prop_assert_eq!(format!("{found:?}"), format!("{input:?}"));
        }
    }
}
