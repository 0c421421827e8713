//! Decodes JSON-RPC messages.

use std::borrow::Cow;

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::request::{IndexedCall, Scanner, invalid_encoding};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::answer::RpcError;
use super::malformed_call::MalformedCall;
use super::request_id::{IdScanner, RecoveredId, is_id};

/// A decoded message. Parts that only some receivers need remain JSON.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// `tools/call`.
    Call(ToolCall<'a>),
    /// `notifications/cancelled`, with the id of the canceled request.
    Cancelled { request: &'a str },
    /// Any other request.
    Request(OtherRequest<'a>),
    /// The client's answer to a request from the server. An error has no result.
    Answer { id: &'a str, result: Option<&'a RawValue> },
    /// Any other notification.
    Ignored,
    /// An invalid message.
    Refused(Refusal),
    /// A JSON-RPC batch. Only MCP 2025-03-26 supports batches.
    Batch(Vec<&'a RawValue>),
    /// An empty line.
    Blank,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct ToolCall<'a> {
    /// The request's id, in its original spelling.
    pub(crate) id: &'a str,
    /// The tool's name.
    pub(crate) name: Cow<'a, str>,
    /// The tool's arguments, a JSON object.
    pub(crate) arguments: Option<&'a str>,
    /// The members of `arguments`, if the call has its usual form and could be scanned.
    pub(crate) index: Option<IndexedCall<'a>>,
    /// The request's `_meta`.
    pub(crate) meta: Option<&'a str>,
    /// The user's answers in a repeated call, as JSON.
    pub(crate) input_responses: Option<&'a str>,
    /// The state sent by the server with its questions, as JSON.
    pub(crate) request_state: Option<&'a str>,
    /// The member with which a client of MCP 2025-11-25 requests a task.
    pub(crate) task: Option<&'a str>,
}

/// A request other than a tool call.
#[derive(Debug)]
pub(crate) struct OtherRequest<'a> {
    /// The request's id, in its original spelling.
    pub(crate) id: &'a str,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

impl<'a> OtherRequest<'a> {
    /// Returns the request's `_meta`.
    ///
    /// # Errors
    ///
    /// Returns an error if the parameters are not an object, or if they repeat a member.
    pub(crate) fn meta(&self) -> Result<Option<&'a str>, RpcError> {
        let Some(params) = self.params else { return Ok(None) };
        match object::<MetaParams<'_>>(params.get()) {
            Ok(params) => Ok(params.meta.map(RawValue::get)),
            Err(error) => {
                let repeated = repeated_member(&error).map(|name| Fault::Repeated(name).code().1);
                Err(RpcError::new(-32602, repeated.unwrap_or(MALFORMED_PARAMS.into())))
            }
        }
    }
}

/// A message that cannot be decoded and the id to reply to.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The request's id. Over a stream, a message without an id is only answered if the reason is [`Fault::Form`].
    pub(crate) id: Option<String>,
    pub(crate) fault: Fault,
}

#[derive(Debug)]
pub(crate) enum Fault {
    /// A tool call with an error defined by the protocol.
    Call(OperationError),
    /// Not JSON.
    Syntax,
    /// A repeated member in the message or its parameters.
    Repeated(&'static str),
    /// Valid JSON, but not a JSON-RPC message.
    Form,
    /// The message is too long.
    Length,
    /// `tools/call` with malformed parameters.
    Parameters(MalformedCall),
}

impl Fault {
    /// Returns the JSON-RPC code and message to use unless the tools define their own error.
    pub(crate) fn code(&self) -> (i32, Cow<'static, str>) {
        match self {
            // A call without an id is a notification. MCP does not allow that.
            Self::Call(_) => (-32600, "Invalid request: a call needs an 'id'".into()),
            Self::Syntax => (-32700, "Parse error: the message is not valid JSON".into()),
            Self::Form => (
                -32600,
                "Invalid request: a message has 'jsonrpc' \"2.0\", a 'method', and as 'id' a string or \
                 a whole number"
                    .into(),
            ),
            Self::Repeated(name) => (
                -32600,
                format!("Invalid request: the message repeats its member '{name}': send it once")
                    .into(),
            ),
            Self::Length => (-32600, "Invalid request: the message is too long".into()),
            Self::Parameters(_) => (-32602, BAD_CALL.into()),
        }
    }
}

/// Error message for malformed parameters of requests other than calls.
const MALFORMED_PARAMS: &str = "'params' and its '_meta' must be objects";

/// Error message for malformed calls.
pub(crate) const BAD_CALL: &str =
    "tools/call takes the tool's 'name' as a string and its 'arguments' as an object";

/// Maximum number of messages in a JSON-RPC batch.
pub(crate) const MAX_BATCH_MESSAGES: usize = 100;
/// Error message for longer batches.
pub(crate) const LONG_BATCH: &str = "Invalid request: a batch may have up to 100 messages";

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Member<'a>,
    #[serde(borrow, default)]
    error: Member<'a>,
}

/// A member with any value. Unlike with `Option`, `null` counts as present.
#[derive(Default)]
struct Member<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Member<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MetaParams<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CancelledParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

/// Decodes a message (REQ-ENC-01).
pub(crate) fn decode_message(bytes: &[u8]) -> Message<'_> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Message::Blank;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let RecoveredId { id, method, .. } = IdScanner::of(bytes);
            let fault = match method.as_deref() {
                Some("tools/call") => Fault::Call(invalid_encoding(error.valid_up_to())),
                _ => Fault::Syntax,
            };
            return Message::Refused(Refusal { id, fault });
        }
    };
    if let Some(call) = scan_call(text) {
        return Message::Call(call);
    }
    match object::<Envelope<'_>>(text) {
        Ok(envelope) => classify(envelope),
        Err(error) if error.is_data() && text.trim_ascii_start().starts_with('[') => batch(text),
        Err(error) => {
            let fault = match error.is_data() {
                true => repeated_member(&error).map_or(Fault::Form, Fault::Repeated),
                false => Fault::Syntax,
            };
            Message::Refused(Refusal { id: IdScanner::of(bytes).id, fault })
        }
    }
}

/// Decodes a valid call in one pass, because nearly all messages are valid calls. Returns `None` for every other
/// message. Those are decoded by serde, to find the mistake.
fn scan_call(text: &str) -> Option<ToolCall<'_>> {
    let mut scanner = Scanner::new(text)?;
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    scanner.object(|scanner, name| {
        let repeats = match name {
            "jsonrpc" => version.replace(scanner.plain_string()?).is_some(),
            "id" => id.replace(scanner.value()?).is_some(),
            "method" => method.replace(scanner.plain_string()?).is_some(),
            "params" => params.replace(scan_params(scanner)?).is_some(),
            // Other members are invalid, or the message is not a call.
            _ => true,
        };
        (!repeats).then_some(())
    })?;
    scanner.end()?;
    let id = id?;
    let is_call = version? == "2.0" && method? == "tools/call";
    (is_call && is_id(id)).then_some(ToolCall { id, ..params? })
}

/// Decodes the parameters of a call. The caller adds the id.
fn scan_params<'a>(scanner: &mut Scanner<'a>) -> Option<ToolCall<'a>> {
    let (mut tool, mut arguments, mut meta, mut task) = (None, None, None, None);
    let (mut responses, mut state) = (None, None);
    scanner.object(|scanner, name| {
        let repeats = match name {
            "name" => tool.replace(scanner.plain_string()?).is_some(),
            "arguments" => arguments.replace(IndexedCall::read(scanner)?).is_some(),
            "_meta" => meta.replace(scanner.value()?).is_some(),
            "inputResponses" => responses.replace(scanner.value()?).is_some(),
            "requestState" => state.replace(scanner.value()?).is_some(),
            "task" => task.replace(scanner.value()?).is_some(),
            _ => {
                scanner.value()?;
                false
            }
        };
        (!repeats).then_some(())
    })?;
    let (arguments, index) = arguments.unzip();
    Some(ToolCall {
        id: "",
        name: tool?.into(),
        arguments,
        index: index.flatten(),
        meta,
        input_responses: responses,
        request_state: state,
        task: task.filter(|task| *task != "null"),
    })
}

/// Returns the member reported by serde as repeated. Returns `None` for all other errors.
fn repeated_member(error: &serde_json::Error) -> Option<&'static str> {
    /// The members of [`Envelope`] and [`CallParams`].
    const MEMBERS: &str = "jsonrpc id method params result error name arguments _meta inputResponses \
                           requestState task";
    let error = error.to_string();
    let name = error.strip_prefix("duplicate field `")?.split('`').next()?;
    MEMBERS.split(' ').find(|member| *member == name)
}

/// Decodes an array of messages.
fn batch(text: &str) -> Message<'_> {
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(messages) if !messages.is_empty() => Message::Batch(messages),
        _ => Message::Refused(Refusal { id: None, fault: Fault::Form }),
    }
}

/// Returns the ids of a batch's messages. Used to answer each of them if batches are rejected.
pub(crate) fn batch_ids(messages: &[&RawValue]) -> Vec<String> {
    messages.iter().filter_map(|message| IdScanner::of(message.get().as_bytes()).id).collect()
}

/// Deserializes a struct from a JSON object. serde alone would also accept an array of its fields.
fn object<'a, T: Deserialize<'a>>(json: &'a str) -> serde_json::Result<T> {
    if json.trim_ascii_start().starts_with('[') {
        serde_json::from_str::<Vec<IgnoredAny>>(json)?;
        return Err(serde::de::Error::custom("a list"));
    }
    serde_json::from_str(json)
}

/// Returns the rejection of an overlong message.
pub(crate) fn too_long(recovered: RecoveredId, error: OperationError) -> Refusal {
    let fault = match recovered.method.as_deref() {
        Some("tools/call") => Fault::Call(error),
        _ => Fault::Length,
    };
    Refusal { id: recovered.id, fault }
}

/// Returns the kind of a message, with its parts.
fn classify(envelope: Envelope<'_>) -> Message<'_> {
    let Envelope { jsonrpc, id, method, params, result, error } = envelope;
    let id = id.map(RawValue::get);
    let has_answer = result.0.is_some() || error.0.is_some();
    let refused = |fault| {
        let id = id.filter(|id| is_id(id)).map(str::to_owned);
        Message::Refused(Refusal { id, fault })
    };
    if jsonrpc != "2.0" || id.is_some_and(|id| !is_id(id)) {
        return refused(Fault::Form);
    }
    match (method, id) {
        (Some(_), _) if has_answer => refused(Fault::Form),
        (Some(method), Some(id)) if method == "tools/call" => {
            let params = params.map(RawValue::get);
            let malformed = || refused(Fault::Parameters(MalformedCall::find(params)));
            match object::<CallParams<'_>>(params.unwrap_or_default()) {
                Ok(CallParams { name, arguments, meta, responses, state, task }) => {
                    let arguments = arguments.map(RawValue::get);
                    if arguments.is_some_and(|arguments| !arguments.starts_with('{')) {
                        return malformed();
                    }
                    Message::Call(ToolCall {
                        id,
                        name,
                        arguments,
                        index: None,
                        meta: meta.map(RawValue::get),
                        input_responses: responses.map(RawValue::get),
                        request_state: state.map(RawValue::get),
                        task: task.map(RawValue::get),
                    })
                }
                Err(error) => match repeated_member(&error) {
                    Some(name) => refused(Fault::Repeated(name)),
                    None => malformed(),
                },
            }
        }
        (Some(method), Some(id)) => Message::Request(OtherRequest { id, method, params }),
        (Some(method), None) if method == "notifications/cancelled" => {
            let params = params.map_or("", RawValue::get);
            match object::<CancelledParams<'_>>(params) {
                Ok(CancelledParams { request }) => Message::Cancelled { request: request.get() },
                Err(_) => Message::Ignored,
            }
        }
        (Some(_), None) => Message::Ignored,
        (None, Some(id)) if has_answer => Message::Answer { id, result: result.0 },
        (None, None) if has_answer => Message::Ignored,
        (None, _) => refused(Fault::Form),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the id and the error code of the answer to a rejected message.
    fn refused(bytes: &[u8]) -> (Option<String>, String) {
        match decode_message(bytes) {
            Message::Refused(Refusal { id, fault }) => {
                let code = match &fault {
                    Fault::Call(error) => error.code().as_str().to_owned(),
                    other => other.code().0.to_string(),
                };
                (id, code)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn distinguishes_the_kinds_of_messages() {
        let call = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","arguments":{"a":1},"_meta":{}}}"#;
        let Message::Call(call) = decode_message(call) else { panic!() };
        assert_eq!((call.id, &*call.name, call.arguments), (r#""a""#, "t", Some(r#"{"a":1}"#)));
        assert_eq!(call.meta, Some("{}"));
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"t"}}"#;
        assert!(matches!(decode_message(call), Message::Call(ToolCall { arguments: None, .. })));
        let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}"#;
        let Message::Request(list) = decode_message(list) else { panic!() };
        assert_eq!((list.id, &*list.method), ("1", "tools/list"));
        assert_eq!(list.meta().unwrap(), Some("{}"));
        let cancel =
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert!(matches!(decode_message(cancel), Message::Cancelled { request: "7" }));
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#;
        let Message::Request(ping) = decode_message(ping) else { panic!() };
        assert!(ping.meta().is_err());
        assert!(matches!(decode_message(b" \t"), Message::Blank));
    }

    /// Decodes a message with serde, and formats the result.
    fn in_parts(text: &str) -> String {
        match object::<Envelope<'_>>(text) {
            Ok(envelope) => format!("{:?}", classify(envelope)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_valid_call_is_the_same_in_one_pass_and_in_parts() {
        // REQ-ENC-01
        let params = [
            r#"{"name":"t","arguments":{"a":[1]},"_meta":{}}"#,
            r#"{"name":"\u0074"}"#,
            r#"{"name":"t","arguments":{"operation":"o","params":{"a":1}},"x":{}}"#,
            r#"{"name":"t","arguments":null,"x":{}}"#,
            r#"{"name":"t","task":{"ttl":1},"arguments":{}}"#,
            r#"{"name":"t","task":null}"#,
            r#"{"name":"t","task":{},"task":{}}"#,
            r#"{"name":"t","arguments":[]}"#,
            r#"{"name":"t","name":"u"}"#,
            r#"["t",{}]"#,
            r#"{"name":7}"#,
            "null",
        ];
        let envelopes = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":PARAMS}"#,
            r#" { "params" : PARAMS, "method" : "tools/call","id":"a","jsonrpc": "2.0" } "#,
            r#" {"params":PARAMS,"x":[],"method":"tools\/call","id":"a","jsonrpc":"2.0"} "#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":PARAMS}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":PARAMS}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":PARAMS}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":PARAMS}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":PARAMS,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":PARAMS}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":PARAMS}}"#,
            r#"["2.0",1,"tools/call",PARAMS]"#,
        ];
        let (mut valid, mut indexed) = (0, 0);
        for envelope in envelopes {
            for params in params {
                let message = envelope.replace("PARAMS", params);
                if let Some(call) = scan_call(&message) {
                    valid += 1;
                    indexed += usize::from(call.index.is_some());
                    let call = format!("{:?}", Message::Call(ToolCall { index: None, ..call }));
                    assert_eq!(call, in_parts(&message), "{message}");
                }
            }
        }
        assert_eq!((valid, indexed), (8, 2));
    }

    #[test]
    fn a_list_is_a_batch_and_not_the_fields_of_a_message() {
        let Message::Batch(messages) = decode_message(br#"["2.0", 1, "ping", {}]"#) else {
            panic!()
        };
        assert_eq!(messages.len(), 4);
        assert!(batch_ids(&messages).is_empty());
    }

    #[test]
    fn a_request_has_an_id_and_a_method_with_any_name() {
        for (message, kind) in [
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, "Request"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"","params":{}}"#, "Request"),
            (r#"{"jsonrpc":"2.0","method":""}"#, "Ignored"),
            (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "Answer"),
            (r#"{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}"#, "Ignored"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#, "Refused"),
            (r#"{"jsonrpc":"2.0","id":7,"method":null}"#, "Refused"),
            (r#"{"jsonrpc":"2.0","id":7}"#, "Refused"),
        ] {
            let decoded = format!("{:?}", decode_message(message.as_bytes()));
            assert!(decoded.starts_with(kind), "{message}: {decoded}");
        }
    }

    #[test]
    fn the_fault_of_a_malformed_call_is_found() {
        // REQ-AGR-10
        for (params, field, reason) in [
            (None, "params", "Is required"),
            (Some(r#"["t",{}]"#), "params", "Must be an object, got a list"),
            (Some(" \"t\""), "params", "Must be an object, got a string"),
            (Some("{}"), "name", "Is required"),
            (Some(r#"{"name":null}"#), "name", "Must be a string, got null"),
            (
                Some(r#"{"name":"t","arguments":true}"#),
                "arguments",
                "Must be an object, got a boolean",
            ),
            (
                Some(r#"{"name":"t","arguments":-1}"#),
                "arguments",
                "Must be an object, got a number",
            ),
            (
                Some(r#"{"name":"t","task":7}"#),
                "params",
                "Has members of a form unknown to `tools/call`",
            ),
            (
                Some(r#"{"\ud800":7,"name":"t"}"#),
                "params",
                "Has members of a form unknown to `tools/call`",
            ),
        ] {
            let found = MalformedCall::find(params);
            assert_eq!((found.field, found.reason.as_str()), (field, reason), "{params:?}");
        }
    }

    #[test]
    fn answers_messages_with_a_readable_id() {
        // REQ-ENC-01
        for (message, id, code) in [
            (&br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#[..], Some("1"), "-32602"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":[]}}"#, Some("1"), "-32602"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, Some("1"), "-32602"),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None, "-32600"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#, Some("1"), "-32600"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","name":"u"}}"#, Some("1"), "-32600"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"arguments":{}}}"#, Some("1"), "-32600"),
            (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some("1"), "-32600"),
            (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, Some("1"), "-32600"),
            (br#"{"id":1,"method":"ping"}"#, Some("1"), "-32600"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping""#, Some("1"), "-32700"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, Some("1"), "-32700"),
            (b"[]", None, "-32600"),
            (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t",{}]}"#, Some("1"), "-32602"),
            (b"[1,", None, "-32700"),
            (b"7", None, "-32600"),
            (b"{", None, "-32700"),
            (b"\x00\x01\x02", None, "-32700"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"\xff\":1}}", Some("1"), "VALIDATION_INVALID_ENCODING"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"\xff\":1}}", Some("1"), "-32700"),
        ] {
            let shown = String::from_utf8_lossy(message);
            assert_eq!(refused(message), (id.map(str::to_owned), code.to_owned()), "{shown}");
        }
        let deep = format!(r#"{{"id":3,"jsonrpc":"2.0","x":{}"#, "[".repeat(100_000));
        assert_eq!(refused(deep.as_bytes()).0.as_deref(), Some("3"));
    }
}
