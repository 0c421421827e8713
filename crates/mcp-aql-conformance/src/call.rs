//! One call of an operation: the request, the reply, and access to the parts of the reply.

use serde_json::{Map, Value, json};

use crate::json_size::is_light;
use crate::wire::{Answer, Connection, NoResponse};

const ARGUMENTS: &str = "arguments";

/// A tool call and its reply.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) reply: Reply,
}

/// The reply to a tool call.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A tool result, whether it reports a success or a failure.
    Result {
        /// The whole result with `content` and `isError`.
        raw: Value,
        /// The first content item of type `text`, parsed; `None` if it is not JSON.
        body: Option<Value>,
    },
    /// A JSON-RPC error.
    Protocol {
        code: i64,
        /// The whole error object.
        raw: Value,
    },
    /// The call got no reply.
    NoResponse(NoResponse),
}

/// The error of a failed call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure<'a> {
    /// `error.code`; empty if the error has none.
    pub(crate) code: &'a str,
    /// `error.message`, or the whole error if it is a string.
    pub(crate) message: &'a str,
    /// `error.details`, or null.
    pub(crate) details: &'a Value,
}

impl<'a> Failure<'a> {
    /// Reads an error from an object with a code and a message, or from a string.
    fn read(error: Option<&'a Value>) -> Self {
        let error = error.unwrap_or(&Value::Null);
        let member = |name: &str| error.get(name).and_then(Value::as_str);
        Self {
            code: member("code").unwrap_or_default(),
            message: member("message").or(error.as_str()).unwrap_or_default(),
            details: error.get("details").unwrap_or(&Value::Null),
        }
    }
}

const PROTOCOL_ERROR: (&str, &str) =
    ("wire.protocol_errors", "the failure is a JSON-RPC error, which has no code of the protocol");

/// Returns `true` if the input schema of an endpoint tool allows these arguments.
///
/// If it does not, an MCP library may reject the call before the adapter sees it.
pub(crate) fn fits_tool_schema(arguments: &Value) -> bool {
    let (operation, operations) = (arguments.get("operation"), arguments.get("operations"));
    let is_item = |item: &Value| item.is_object() && fits_tool_schema(item);
    (operation.is_some() || operations.is_some())
        && operation.is_none_or(Value::is_string)
        && operations.is_none_or(|items| items.as_array().is_some_and(|it| it.iter().all(is_item)))
        && arguments.get("params").is_none_or(Value::is_object)
}

/// Returns `true` if the `wire.` checks judge the replies to the requests of a finding.
///
/// They judge calls that fit the input schema of a tool. They do not judge raw messages.
fn is_judged_on_the_wire(sent: &Value) -> bool {
    match sent {
        Value::Array(requests) => requests.iter().all(is_judged_on_the_wire),
        Value::Object(request) => request.get(ARGUMENTS).is_some_and(fits_tool_schema),
        other => other.is_null(),
    }
}

/// Returns the items of a batch, or `None` for other arguments.
pub(crate) fn batch_items(arguments: &Value) -> Option<&Vec<Value>> {
    arguments.get("operations").and_then(Value::as_array)
}

/// Returns the calls in the arguments of a request: the items of a batch, or the only call.
pub(crate) fn calls_in(arguments: &Value) -> &[Value] {
    batch_items(arguments).map_or(std::slice::from_ref(arguments), Vec::as_slice)
}

/// Returns `true` if the value has this boolean member with this value.
fn is_flagged(value: &Value, name: &str, flag: bool) -> bool {
    value.get(name) == Some(&Value::Bool(flag))
}

/// Returns `true` if the body of a result states whether the operation succeeded.
fn has_flag(body: Option<&Value>) -> bool {
    body.is_some_and(|body| body.get("success").is_some_and(Value::is_boolean))
}

/// Returns `true` if the data of a success only reports an error.
///
/// ```json
/// { "error": "Unknown type 'x'", "code": "NOT_FOUND" }
/// { "content": [{ "type": "text", "text": "Error: no such item" }] }
/// ```
///
/// The string may also begin with a cross mark. Members that do not belong to an error, such as `execution_id`, mean
/// that the data is a real result.
fn is_error_report(data: &Value) -> bool {
    let Some(members) = data.as_object() else { return false };
    const OF_ERRORS: [&str; 6] = ["error", "code", "message", "details", "hint", "suggestion"];
    let is_code = |text: &str| {
        !text.is_empty() && text.bytes().all(|it| it.is_ascii_uppercase() || it == b'_')
    };
    let has_code = members.get("code").and_then(Value::as_str).is_some_and(is_code);
    let has_error = members.get("error").is_some_and(|it| it.is_string() || it.is_object());
    if has_code && has_error && members.keys().all(|name| OF_ERRORS.contains(&name.as_str())) {
        return true;
    }
    let text = data.pointer("/content/0/text").and_then(Value::as_str);
    let begins = |text: &str| {
        let text = text.trim_start();
        let word = text.get(..6).unwrap_or_default();
        text.starts_with(['\u{274c}', '\u{2716}', '\u{2717}'])
            || word.eq_ignore_ascii_case("error:")
    };
    members.len() == 1 && text.is_some_and(begins)
}

/// Returns `true` if the result of an operation reports a failure as a success.
pub(crate) fn is_hidden_failure(body: &Value) -> bool {
    is_flagged(body, "success", true) && body.get("data").is_some_and(is_error_report)
}

const REPORTED_AS_SUCCESS: (&str, &str) =
    ("shapes.failure", "the call was rejected, but the reply is a success");

/// Returns the check that reports why the error in the reply of a finding cannot be read, and the reason.
pub(crate) fn error_obstacle(
    sent: &Value,
    received: &Value,
) -> Option<(&'static str, &'static str)> {
    obstacle_in(received).filter(|(by, _)| !is_of_the_wire(by) || is_judged_on_the_wire(sent))
}

fn is_of_the_wire(check: &str) -> bool {
    check.starts_with("wire.")
}

fn obstacle_in(received: &Value) -> Option<(&'static str, &'static str)> {
    if is_flagged(received, "success", false) {
        let code = received.pointer("/error/code").and_then(Value::as_str);
        return code
            .is_none_or(str::is_empty)
            .then_some(("errors.form", "the failure has no `error.code`"));
    }
    if is_hidden_failure(received) {
        return Some(REPORTED_AS_SUCCESS);
    }
    if is_flagged(received, "isError", true) && received.get("content").is_some() {
        return Some(("wire.one_text_item", "the failure is not the JSON of an operation result"));
    }
    let is_protocol_error = received.pointer("/error/code").is_some_and(Value::is_i64)
        && received.get("success").is_none();
    is_protocol_error.then_some(PROTOCOL_ERROR)
}

/// Returns the error code of a reply that rejects a call because of a rate limit.
pub(crate) fn rate_limit_code(received: &Value) -> Option<&str> {
    let code = received.pointer("/error/code").and_then(Value::as_str)?;
    let is_limit = is_flagged(received, "success", false) && code.starts_with("RATE_LIMIT_");
    is_limit.then_some(code)
}

impl Exchange {
    /// Calls a tool with these arguments. `meta` becomes `_meta` of the request.
    pub(crate) async fn make(
        connection: &Connection,
        tool: &str,
        arguments: Value,
        meta: Option<Value>,
    ) -> Self {
        let mut params = Map::from_iter([
            ("name".to_owned(), Value::from(tool)),
            (ARGUMENTS.to_owned(), arguments),
        ]);
        params.extend(meta.map(|meta| ("_meta".to_owned(), meta)));
        let mut params = Value::Object(params);
        let answer = connection.request("tools/call", &params).await;
        let arguments = params.get_mut(ARGUMENTS).map(Value::take).unwrap_or_default();
        let exchange = Self { tool: tool.to_owned(), arguments, reply: Reply::from(answer) };
        if exchange.succeeded() && exchange.error_obstacle().is_none() {
            connection.note_call(exchange.operation());
        }
        exchange
    }

    /// Creates an exchange for a call that was not sent.
    pub(crate) fn unsent(tool: &str, arguments: Value, why: NoResponse) -> Self {
        Self { tool: tool.to_owned(), arguments, reply: Reply::NoResponse(why) }
    }

    /// Drops the raw result if the body was parsed, to save memory: both have the same content.
    pub(crate) fn drop_text(&mut self) {
        if let Reply::Result { raw, body: Some(_) } = &mut self.reply {
            *raw = Value::Null;
        }
    }

    /// Returns the body of the reply.
    pub(crate) fn into_body(self) -> Option<Value> {
        match self.reply {
            Reply::Result { body, .. } => body,
            Reply::Protocol { .. } | Reply::NoResponse(_) => None,
        }
    }

    /// Returns the name of the called operation.
    pub(crate) fn operation(&self) -> &str {
        self.arguments.get("operation").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the result of the operation: an object with `success`.
    pub(crate) fn body(&self) -> Option<&Value> {
        match &self.reply {
            Reply::Result { body, .. } => body.as_ref(),
            Reply::Protocol { .. } | Reply::NoResponse(_) => None,
        }
    }

    /// Returns `true` if the operation succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        self.body().and_then(|body| body.get("success")) == Some(&Value::Bool(true))
    }

    /// Returns `data` of a success.
    pub(crate) fn data(&self) -> Option<&Value> {
        self.body().filter(|_| self.succeeded())?.get("data")
    }

    /// Returns the error of a failed call in any form: as specified, as a string, as plain content with `isError`, or
    /// as a JSON-RPC error.
    ///
    /// The lenient reading lets each check judge its own requirement, independently of the form of the error.
    pub(crate) fn failure(&self) -> Option<Failure<'_>> {
        self.reply.failure()
    }

    /// Returns `true` if the adapter or its MCP library rejected the request in any form.
    pub(crate) fn is_rejected(&self) -> bool {
        self.reply.is_rejection()
    }

    /// Returns `true` if an MCP library may have rejected the request because it violates the input schema of the tool.
    pub(crate) fn is_rejected_by_schema(&self) -> bool {
        let is_of_the_adapter = self.body().is_some_and(|body| has_flag(Some(body)));
        self.is_rejected() && !is_of_the_adapter && !fits_tool_schema(&self.arguments)
    }

    /// Returns the error code of a failure, if it has one in a readable form.
    pub(crate) fn code(&self) -> Option<&str> {
        self.failure().map(|failure| failure.code).filter(|code| !code.is_empty())
    }

    /// Returns the check that reports why the error of a failure cannot be read, and the reason.
    pub(crate) fn error_obstacle(&self) -> Option<(&'static str, &'static str)> {
        let obstacle = match &self.reply {
            Reply::Result { body: Some(body), .. } if has_flag(Some(body)) => obstacle_in(body),
            Reply::Result { raw, .. } => obstacle_in(raw),
            Reply::Protocol { .. } => Some(PROTOCOL_ERROR),
            Reply::NoResponse(_) => None,
        };
        obstacle.filter(|(by, _)| !is_of_the_wire(by) || fits_tool_schema(&self.arguments))
    }

    /// Returns the error code of a failure if the call exceeded a rate limit.
    pub(crate) fn rate_limit_code(&self) -> Option<&str> {
        self.code().filter(|code| code.starts_with("RATE_LIMIT_"))
    }

    /// Returns the reason for a missing reply.
    pub(crate) fn no_response(&self) -> Option<&NoResponse> {
        match &self.reply {
            Reply::NoResponse(lost) => Some(lost),
            Reply::Result { .. } | Reply::Protocol { .. } => None,
        }
    }

    /// Returns `true` if the HTTP server rejected the request because of its size (status 413).
    pub(crate) fn was_too_long(&self) -> bool {
        matches!(self.no_response(), Some(NoResponse::Status(413)))
    }

    /// Returns the request in the form used by findings.
    pub(crate) fn sent(&self) -> Value {
        json!({ "tool": self.tool, "arguments": self.arguments })
    }

    /// Returns the reply in the form used by findings.
    pub(crate) fn received(&self) -> Value {
        match &self.reply {
            Reply::Result { body: Some(body), .. } => body.clone(),
            Reply::Result { raw, body: None } => raw.clone(),
            Reply::Protocol { raw, .. } => json!({ "error": raw }),
            Reply::NoResponse(lost) => Value::String(lost.to_string()),
        }
    }

    /// Returns a short description of the reply for messages, for example "a success".
    pub(crate) fn summary(&self) -> String {
        match (&self.reply, self.failure()) {
            (Reply::Protocol { code, .. }, Some(failure)) => {
                format!("the JSON-RPC error {code} ({})", failure.message)
            }
            (_, Some(failure)) if failure.code.is_empty() => {
                format!("an error without a code ({})", failure.message)
            }
            (_, Some(failure)) => format!("{} ({})", failure.code, failure.message),
            (Reply::NoResponse(lost), None) => lost.to_string(),
            (_, None) if self.succeeded() => "a success".to_owned(),
            (_, None) => "not an operation result".to_owned(),
        }
    }
}

impl Reply {
    /// Returns the error of a failed call in any form.
    fn failure(&self) -> Option<Failure<'_>> {
        match self {
            Self::Result { body: Some(body), .. } if is_flagged(body, "success", false) => {
                Some(Failure::read(body.get("error")))
            }
            Self::Result { raw, body }
                if !has_flag(body.as_ref()) && is_flagged(raw, "isError", true) =>
            {
                Some(Failure::read(raw.pointer("/content/0/text")))
            }
            Self::Protocol { raw, .. } => Some(Failure::read(raw.get("message"))),
            Self::Result { .. } | Self::NoResponse(_) => None,
        }
    }

    /// Returns `true` if the request was rejected in any form: by a failure, by a tool result with `isError`, or by a
    /// JSON-RPC error.
    ///
    /// Rate limits do not count, because they reject calls regardless of their content.
    pub(crate) fn is_rejection(&self) -> bool {
        self.failure().is_some_and(|failure| !failure.code.starts_with("RATE_LIMIT_"))
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Result(raw) => {
                let text = raw.pointer("/content/0/text").and_then(Value::as_str);
                let light = text.filter(|text| is_light(text.as_bytes()));
                let body = light.and_then(|text| serde_json::from_str(text).ok());
                Self::Result { raw, body }
            }
            Answer::Error { code, raw, .. } => Self::Protocol { code, raw },
            Answer::NoResponse(lost) => Self::NoResponse(lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_tools_allow_calls_and_batches() {
        for arguments in [
            json!({ "operation": "get_bed" }),
            json!({ "operation": "get_bed", "params": {}, "bed_id": 7 }),
            json!({ "operations": [] }),
            json!({ "operations": [{ "operation": "get_bed", "params": {} }], "params": {} }),
        ] {
            assert!(fits_tool_schema(&arguments), "{arguments}");
        }
        for arguments in [
            json!({}),
            json!(7),
            json!({ "operation": 7 }),
            json!({ "operation": "get_bed", "params": [] }),
            json!({ "operations": {} }),
            json!({ "operations": [{ "operation": "get_bed" }, 7] }),
            json!({ "operations": [null] }),
            json!({ "operation": "get_bed", "operations": ["get_bed"] }),
        ] {
            assert!(!fits_tool_schema(&arguments), "{arguments}");
        }
    }

    fn exchange(arguments: Value, answer: Answer) -> Exchange {
        Exchange { tool: "mcp_aql_read".to_owned(), arguments, reply: answer.into() }
    }

    fn text(text: impl ToString, is_error: bool) -> Answer {
        let content = json!([{ "type": "text", "text": text.to_string() }]);
        Answer::Result(json!({ "content": content, "isError": is_error }))
    }

    fn protocol_error() -> Answer {
        let (code, message) = (-32_602, "Invalid arguments".to_owned());
        Answer::Error { code, raw: json!({ "code": code, "message": message }), message }
    }

    #[test]
    fn checks_of_the_wire_block_only_what_they_judge() {
        let is_blocked = |arguments: Value, answer: Answer| {
            let exchange = exchange(arguments, answer);
            let of_finding = error_obstacle(&exchange.sent(), &exchange.received());
            assert_eq!(exchange.error_obstacle(), of_finding);
            exchange.error_obstacle().is_some()
        };
        let (call, invalid) = (json!({ "operation": "x" }), json!({ "operation": 7 }));
        for answer in [text("Invalid arguments", true), protocol_error()] {
            assert!(is_blocked(call.clone(), answer.clone()));
            assert!(!is_blocked(invalid.clone(), answer.clone()));
            assert!(
                error_obstacle(&json!("raw"), &exchange(call.clone(), answer).received()).is_none()
            );
        }
        // The adapter itself answered this call.
        assert!(is_blocked(invalid, text(json!({ "success": false, "error": "no" }), false)));
    }

    #[test]
    fn rejections_have_several_forms() {
        let failure = |code: &str| {
            text(json!({ "success": false, "error": { "code": code, "message": "no" } }), false)
        };
        for (answer, is_rejection, summary) in [
            (failure("VALIDATION_INVALID_TYPE"), true, "VALIDATION_INVALID_TYPE (no)"),
            (failure("RATE_LIMIT_EXCEEDED"), false, "RATE_LIMIT_EXCEEDED (no)"),
            (
                text(json!({ "success": false, "error": "no" }), false),
                true,
                "an error without a code (no)",
            ),
            (text("no", true), true, "an error without a code (no)"),
            (protocol_error(), true, "the JSON-RPC error -32602 (Invalid arguments)"),
            (text(json!({ "success": true, "data": null }), true), false, "a success"),
            (text("yes", false), false, "not an operation result"),
        ] {
            let exchange = exchange(json!({ "operation": "x" }), answer);
            assert_eq!(exchange.is_rejected(), is_rejection, "{exchange:?}");
            assert_eq!(exchange.summary(), summary);
        }
    }

    #[test]
    fn finds_failures_that_are_reported_as_successes() {
        let is_hidden = |data: Value| is_hidden_failure(&json!({ "success": true, "data": data }));
        for data in [
            json!({ "error": "Unknown type 'x'", "code": "UNKNOWN_TYPE" }),
            json!({ "error": {}, "code": "NOT_FOUND", "details": {} }),
            json!({ "content": [{ "type": "text", "text": "\u{274c} Unknown type 'x'" }] }),
            json!({ "content": [{ "type": "text", "text": "Error: no such item" }] }),
        ] {
            assert!(is_hidden(data.clone()), "{data}");
        }
        for data in [
            json!({ "error": null, "code": "NONE" }),
            json!({ "error": "the last error", "code": "E_1", "execution_id": "7" }),
            json!({ "error": "the last error" }),
            json!({ "content": [{ "type": "text", "text": "Errors are rare" }] }),
            json!({ "content": [{ "type": "text", "text": "\u{274c} closed" }], "id": 7 }),
            json!({ "content": "\u{274c}" }),
            json!([]),
        ] {
            assert!(!is_hidden(data.clone()), "{data}");
        }
        let failure = json!({ "success": false, "data": { "error": "x", "code": "Y" } });
        assert!(!is_hidden_failure(&failure));
    }
}
