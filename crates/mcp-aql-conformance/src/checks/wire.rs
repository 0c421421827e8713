//! Checks of the JSON-RPC messages and MCP tool results on the wire.

use serde_json::Value;

use super::{Check, checks, shapes};
use crate::call::{Exchange, Reply, fits_tool_schema};
use crate::cases::{Cases, Finding};
use crate::run::Run;
use crate::wire::Samples;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "wire.only_messages" => Seen(only_messages), ["REQ-MCP-09"],
        "The adapter sends only JSON-RPC messages",
        expected: "only JSON-RPC messages in UTF-8",
        fix: "write logs to standard error, not to standard output";
    Must 1 "wire.json_rpc_form" => Seen(json_rpc_form), ["REQ-MCP-12"],
        "Every message is JSON-RPC 2.0, and a response has either a result or an error",
        expected: "`jsonrpc` \"2.0\" in every message, and either `result` or `error` in a response",
        fix: "create messages with an MCP library, or follow JSON-RPC 2.0";
    Must 1 "wire.unexpected_response" => Seen(unexpected_response), ["REQ-RSP-01"],
        "Every response belongs to a pending request",
        expected: "one response to each request, with the unchanged id of the request",
        fix: "respond to each request once with its unchanged id, and do not respond to notifications";
    Must 1 "wire.answers" => Every(answers), ["REQ-RSP-01", "REQ-RQ-08"],
        "Every call gets a reply within the time limit",
        fix: "reply to every request; if the operation may take that long, increase the run's `request_seconds`";
    Must 1 "wire.unreadable_requests" => Seen(unreadable_requests), ["REQ-ENC-01", "REQ-RQ-08"],
        "A request that the adapter cannot read gets an error",
        expected: "a failure VALIDATION_INVALID_ENCODING or VALIDATION_PAYLOAD_TOO_LARGE, or a JSON-RPC error; its \
         id is that of the request, or null or missing if the id cannot be read",
        fix: "answer such a request with a JSON-RPC error (-32700), because the client waits for a reply. MCP SDKs \
         drop a message that their parser rejects, before the code of an adapter sees it: in Python and in \
         TypeScript, read the lines of standard input yourself, and pass only readable ones to the SDK. In place of \
         an unreadable line, pass a request of your own to the SDK, and let its handler return the error: do not \
         write the error yourself, because SDKs may redirect what you write to standard output";
    Must 1 "wire.stays_open" => Seen(stays_open), ["REQ-RQ-08"],
        "No request ends the connection or the adapter",
        expected: "a connection that stays open until the client ends it",
        fix: "catch errors of a call, return a failure, and continue";
    Must 1 "wire.one_text_item" => Every(one_text_item), ["REQ-MCP-09"],
        "A result is one text item with the operation's result as JSON",
        expected: "`content` with one item of type text, whose text is a JSON object",
        fix: "serialize the operation's result into the text of a single content item";
    Must 1 "wire.protocol_errors" => Every(protocol_errors), ["REQ-MCP-12", "REQ-RQ-08"],
        "Failures of operations and parameters are not JSON-RPC errors",
        expected: "a result whose text is {\"success\": false, \"error\": …}, not a JSON-RPC error",
        fix: "return a failure as the result if an operation fails; JSON-RPC errors are for requests other than \
         calls";
    Must 1 "wire.is_error" => Every(is_error), ["REQ-MCP-10", "REQ-MCP-11"],
        "`isError` is true for internal failures and false for recoverable failures and successes",
        fix: "set `isError` for internal failures only: the model cannot correct these";
];

/// Error codes that the protocol lists as recoverable. A result with one of them must not set `isError`.
/// If the protocol adds such a code, you only list it here.
const RECOVERABLE: [&str; 9] = [
    "NOT_FOUND_RESOURCE",
    "NOT_FOUND_OPERATION",
    "VALIDATION_MISSING_PARAM",
    "VALIDATION_INVALID_TYPE",
    "VALIDATION_INVALID_VALUE",
    "PERMISSION_DENIED",
    "RATE_LIMIT_EXCEEDED",
    "RATE_LIMIT_QUOTA_PAUSE",
    "CONFIRMATION_REQUIRED",
];

fn only_messages(run: &Run, cases: &Cases) {
    none_of(run.seen().invalid, cases);
}

fn json_rpc_form(run: &Run, cases: &Cases) {
    none_of(run.seen().nonconforming, cases);
}

/// Reports the second of two responses to one request, for example:
///
/// ```json
/// { "jsonrpc": "2.0", "id": 7, "result": { "content": [] } }
/// { "jsonrpc": "2.0", "id": 7, "result": { "content": [] } }
/// ```
fn unexpected_response(run: &Run, cases: &Cases) {
    none_of(run.seen().unexpected, cases);
}

/// Expects that these statistics contain no message.
fn none_of(samples: Samples, cases: &Cases) {
    cases.expect(samples.count == 0, || Finding::shown("messages of the adapter", samples.first));
}

fn answers(run: &Run, exchange: &Exchange, cases: &Cases) {
    cases.expect(exchange.no_response().is_none() || exchange.was_too_long(), || {
        Finding::of(exchange, shapes::subject(exchange))
            .expected(format!("a reply within {} ms", run.settings.limits.request.as_millis()))
    });
}

/// Reason to block cases that depend on the reply to an unreadable request.
pub(super) const NO_REPLY: &str = "the adapter does not answer requests that it cannot read";

/// Id of the check that reports all unreadable requests without a reply.
pub(super) const UNREADABLE: &str = "wire.unreadable_requests";

/// Reports the unreadable requests to which the adapter did not reply.
///
/// JSON-RPC 2.0 requires a response to every request, also if the request cannot be parsed. REQ-ENC-01 names the
/// failure. All missing replies have one cause, so they are one finding.
fn unreadable_requests(run: &Run, cases: &Cases) {
    let requests = run.unreadable();
    for _ in 0..requests.answered {
        cases.pass();
    }
    if let Some(gap) = run.adapter.unread() {
        return cases.skip(gap.skip());
    }
    if requests.answered == 0 && requests.silent.is_empty() {
        return cases
            .skip_without("a request that cannot be read: the checks that send one did not run");
    }
    if requests.silent.is_empty() {
        return;
    }
    cases.fail(Finding::shown(
        "requests that cannot be read",
        serde_json::json!({ "without a reply": requests.silent }),
    ));
}

fn stays_open(run: &Run, cases: &Cases) {
    let deaths = run.deaths();
    cases.expect(deaths.is_empty(), || Finding::shown("the connection", deaths.clone()));
}

fn one_text_item(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Reply::Result { raw, body } = &exchange.reply else { return };
    if !fits_tool_schema(&exchange.arguments) {
        return;
    }
    let items = raw.get("content").and_then(Value::as_array);
    let is_text = items.is_some_and(|items| {
        items.len() == 1
            && items.iter().all(|item| item.get("type").is_some_and(|kind| kind == "text"))
    });
    let holds_object = body.as_ref().is_some_and(Value::is_object);
    cases.expect(is_text && holds_object, || {
        Finding::of(exchange, shapes::subject(exchange)).received(raw.clone())
    });
}

/// Reports tool calls that fail with a JSON-RPC error instead of a result:
///
/// ```json
/// { "jsonrpc": "2.0", "id": 7, "error": { "code": -32602, "message": "no such bed" } }
/// ```
fn protocol_errors(run: &Run, exchange: &Exchange, cases: &Cases) {
    let is_endpoint = run.adapter.endpoints.iter().any(|tool| tool.name == exchange.tool);
    if !is_endpoint || !fits_tool_schema(&exchange.arguments) || exchange.no_response().is_some() {
        return;
    }
    cases.expect(!matches!(exchange.reply, Reply::Protocol { .. }), || {
        Finding::of(exchange, shapes::subject(exchange))
    });
}

fn is_error(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Reply::Result { raw, .. } = &exchange.reply else { return };
    let should = match exchange.code() {
        None if exchange.succeeded() => false,
        Some(code) if RECOVERABLE.contains(&code) => false,
        Some(code) if code.starts_with("INTERNAL_") => true,
        _ => return,
    };
    let flag = raw.get("isError");
    let is = match flag {
        None | Some(Value::Null) => Some(false),
        Some(flag) => flag.as_bool(),
    };
    cases.expect(is == Some(should), || {
        Finding::of(exchange, shapes::subject(exchange))
            .expected(format!("`isError` {should} for {}", exchange.code().unwrap_or("a success")))
            .received(raw.clone())
    });
}
