//! The arguments of a tool call, from any transport.
//!
//! A call in its usual form, an object with only `operation` and `params`, is read in one pass. The JSON of all other
//! calls is parsed.

use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

use super::bytes::parse;
use super::decode::{Credentials, Request};
use super::json_reader::ParsedObject;
use super::limits::parameter_fits;
use super::params::Params;
use super::scanner::Scanner;
use crate::error::OperationError;
use crate::vocab::ReplyForm;

/// The arguments of a tool call. Create them from JSON, or from the members of an object:
///
/// ```
/// use mcp_aql::transport::Arguments;
///
/// let json = Arguments::from(r#"{"operation":"introspect"}"#);
/// let members = serde_json::Map::from_iter([("operation".to_owned(), "introspect".into())]);
/// let members = Arguments::from(members);
/// ```
#[derive(Debug)]
pub struct Arguments<'a> {
    pub(crate) content: Content<'a>,
    /// Form in which the reply may be returned.
    pub(crate) form: ReplyForm,
}

#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// JSON not read yet.
    Json(&'a [u8]),
    /// A call in the usual form.
    Call(IndexedCall<'a>),
    /// Any other object.
    Object(ParsedObject),
}

/// A call in the usual form: the name of its operation, and its parameters.
#[derive(Debug)]
pub struct IndexedCall<'a> {
    json: &'a str,
    operation: &'a str,
    params: Params<'a>,
}

impl<'a> From<Content<'a>> for Arguments<'a> {
    fn from(content: Content<'a>) -> Self {
        Self { content, form: ReplyForm::Plain }
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Arguments<'a> {
    fn from(json: &'a T) -> Self {
        Content::Json(json.as_ref()).into()
    }
}

impl<'a> From<IndexedCall<'a>> for Arguments<'a> {
    fn from(call: IndexedCall<'a>) -> Self {
        Content::Call(call).into()
    }
}

impl From<ParsedObject> for Arguments<'_> {
    fn from(object: ParsedObject) -> Self {
        Content::Object(object).into()
    }
}

impl From<Map<String, Value>> for Arguments<'_> {
    fn from(members: Map<String, Value>) -> Self {
        ParsedObject::from(members).into()
    }
}

impl<'a> Arguments<'a> {
    /// Reads the arguments from JSON. Missing arguments are an empty object.
    ///
    /// # Errors
    ///
    /// Returns an error if the JSON is not an object.
    #[doc(hidden)]
    pub fn read(json: Option<&'a str>, limits: &SizeLimits) -> Result<Self, OperationError> {
        let Some(json) = json else { return Ok(Map::new().into()) };
        Ok(match IndexedCall::scan(json) {
            Some(call) => call.into(),
            None => parse(json.as_bytes(), limits)?.into(),
        })
    }

    /// Allows the reply to be returned as a JSON string, see [`Reply::is_quoted`](crate::response::Reply).
    #[doc(hidden)]
    #[must_use]
    pub fn for_quoted_reply(self) -> Self {
        Self { form: ReplyForm::Quoted, ..self }
    }

    /// Requires the reply to be returned as an object.
    #[doc(hidden)]
    #[must_use]
    pub fn for_plain_reply(self) -> Self {
        Self { form: ReplyForm::Plain, ..self }
    }

    /// Returns the members of the object.
    ///
    /// # Errors
    ///
    /// Returns an error if the JSON repeats a member, or contains a number that does not fit into 64 bits.
    #[doc(hidden)]
    pub fn into_members(self, limits: &SizeLimits) -> Result<Map<String, Value>, OperationError> {
        let ParsedObject { members, losses, .. } = match self.content {
            Content::Object(object) => object,
            Content::Call(call) => parse(call.json.as_bytes(), limits)?,
            Content::Json(json) => parse(json, limits)?,
        };
        match losses.into_iter().next() {
            Some(loss) => Err(loss.error),
            None => Ok(members),
        }
    }

    /// Returns the name of the operation. Returns `None` for a batch, and for JSON not read yet.
    #[doc(hidden)]
    pub fn operation(&self) -> Option<&str> {
        match &self.content {
            Content::Call(call) => Some(call.operation),
            Content::Object(ParsedObject { members, .. }) => members
                .get("operation")
                .and_then(Value::as_str)
                .filter(|_| !members.contains_key("operations")),
            Content::Json(_) => None,
        }
    }

    /// Returns a member whose name starts with `_`.
    #[doc(hidden)]
    pub fn metadata(&self, name: &str) -> Option<&Value> {
        match &self.content {
            Content::Object(ParsedObject { members, .. }) => members.get(name),
            // A call in the usual form has no such members.
            Content::Call(_) | Content::Json(_) => None,
        }
    }

    /// Returns the size of the JSON in bytes, or `None` if the arguments were not JSON.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match &self.content {
            Content::Json(json) => Some(json.len()),
            Content::Call(call) => Some(call.json.len()),
            Content::Object(object) => object.bytes,
        }
    }
}

impl<'a> IndexedCall<'a> {
    /// Reads tool arguments from a scanner. Returns their JSON, and the call if it has the usual form. Returns `None`
    /// for JSON that the scanner does not accept.
    pub fn read(scanner: &mut Scanner<'a>) -> Option<(&'a str, Option<Self>)> {
        let start = scanner.position();
        let (mut operation, mut params, mut is_usual) = (None, None, true);
        scanner.object(|scanner, name| {
            match name {
                "operation" if operation.is_none() => operation = Some(scanner.plain_string()?),
                "params" if params.is_none() => {
                    let params = params.insert(Params::for_usual_call());
                    scanner.object(|scanner, name| {
                        let value = scanner.value()?;
                        is_usual = is_usual && params.read(name, value).is_some();
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
        let json = scanner.text_since(start);
        let call = operation.filter(|_| is_usual).map(|operation| Self {
            json,
            operation,
            params: params.unwrap_or_default(),
        });
        Some((json, call))
    }

    /// Reads JSON. Returns `None` if it is not a call in the usual form.
    pub fn scan(json: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(json)?;
        let (_, call) = Self::read(&mut scanner)?;
        scanner.end()?;
        call
    }

    /// Returns the name of the operation.
    pub fn operation(&self) -> &'a str {
        self.operation
    }

    /// Parses the JSON again, to report what is wrong with it.
    pub(crate) fn parse(&self, limits: &SizeLimits) -> Result<ParsedObject, OperationError> {
        parse(self.json.as_bytes(), limits)
    }

    /// Converts the call into a request. Returns the call itself if only the parser can read it or describe what is
    /// wrong.
    pub(crate) fn request(self, limits: &SizeLimits) -> Result<Request<'a>, Self> {
        // No string is longer than the JSON, and the serialized request is not longer either.
        let fits = self.json.len() <= limits.max_request_size.min(limits.max_string_length)
            && limits.max_nesting_depth >= 2
            && self.params.values().all(|value| parameter_fits(value, limits));
        if self.operation.is_empty() || !fits {
            return Err(self);
        }
        let credentials = Credentials::default();
        Ok(Request { operation: self.operation.into(), params: self.params, credentials })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decoded, decode_request, parse};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn only_calls_in_the_usual_form_are_indexed() {
        // REQ-RQ-01, REQ-RQ-03
        let found =
            IndexedCall::scan(r#" { "params": {"a": 1, "b": "x"}, "operation": "get" } "#).unwrap();
        assert_eq!(found.operation, "get");
        assert_eq!(Value::from(found.params.into_map()), json!({"a": 1, "b": "x"}));
        let found = IndexedCall::scan(r#"{"operation":"get"}"#).unwrap();
        assert_eq!(found.params, Params::default());
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
            r#"{"operation":"get","params":{"_confirmation":"c"}}"#,
            r#"{"operation":"get","params":{"a":1,"a":1}}"#,
            r#"{"operation":"get","params":{"a":{"b":1,"b":1}}}"#,
        ] {
            assert!(IndexedCall::scan(text).is_none(), "{text}");
        }
    }

    /// Generates values of all kinds. Some of them exceed the limits of the test.
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
            let limits = SizeLimits {
                max_request_size: 160,
                max_string_length: 120,
                max_array_elements: 3,
                max_nesting_depth: 4,
                ..SizeLimits::default()
            };
            let params: Value = params.into_iter().collect();
            let text = json!({ "operation": "get", "params": params }).to_string();
            let call = IndexedCall::scan(&text);
            let Some(Ok(found)) = call.map(|call| call.request(&limits)) else { return Ok(()) };
            let decoded = decode_request(parse(text.as_bytes(), &limits).unwrap(), true, &limits);
            let Ok(Decoded::One(input)) = decoded else {
                return Err(TestCaseError::fail(format!("refused: {text}")));
            };
            prop_assert_eq!(&found.operation, &input.operation);
            prop_assert_eq!(found.params.into_map(), input.params.into_map());
        }
    }
}
