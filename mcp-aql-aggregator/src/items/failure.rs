//! Answers that are failures without saying so as the protocol has it.
//!
//! What went wrong in a server may name its secrets, so it is no result. What merely tells of errors is one:
//! where a text could be either, short ones that begin as programs complain are failures.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use super::json;
use super::object::{BODIES, DEEPEST};

/// Longer texts are no messages.
const LONGEST: usize = 1000;
/// Nor are longer ones, where many a text begins like them.
const LONGEST_LINE: usize = 300;
/// Longer JSON has more to tell than what went wrong.
const LONGEST_JSON: usize = 64 * 1024;

/// Texts that programs begin with, and nobody else does.
const SURE: [&str; 6] = [
    "traceback (most recent call last)",
    "mcp error",
    "error executing",
    "database error",
    "internal server error",
    "fatal:",
];
/// Behind "error" they make a message.
const DOING: [&str; 20] = [
    "accessing",
    "calling",
    "communicating",
    "connecting",
    "during",
    "fetching",
    "finding",
    "from",
    "getting",
    "in",
    "invoking",
    "listing",
    "making",
    "occurred",
    "performing",
    "processing",
    "querying",
    "retrieving",
    "searching",
    "while",
];
/// What a message of one line begins with.
const LINES: [&str; 30] = [
    "access denied",
    "an error occurred",
    "an unexpected error",
    "api key is",
    "authentication failed",
    "authentication required",
    "connection error",
    "connection refused",
    "connection reset",
    "connection timed out",
    "could not connect",
    "cannot connect",
    "can't connect",
    "failed to",
    "forbidden",
    "internal error",
    "invalid api key",
    "invalid credentials",
    "missing api key",
    "network error",
    "permission denied",
    "query failed",
    "rate limit exceeded",
    "request failed",
    "request timed out",
    "search failed",
    "tool execution failed",
    "unable to",
    "unauthorized",
    "unknown tool",
];
/// Whoever explains an error writes so, whoever meets it does not.
const EXPLAINING: [&str; 9] = [
    " means ",
    " indicates ",
    " is thrown ",
    " is raised ",
    " is returned when ",
    " occurs ",
    " happens ",
    " how to ",
    " to fix ",
];

/// Whether an answer is a failure.
pub(super) fn is_failure(answer: &CallToolResult) -> bool {
    if answer.is_error == Some(true) {
        return true;
    }
    let structured = answer.structured_content.as_ref();
    match structured.filter(|it| !json::says_nothing(it)) {
        Some(value) if is_failed(value) => return true,
        Some(value) if json::has_items(value) => return false,
        _ => {}
    }
    let (mut all, mut errors) = (0_usize, 0_usize);
    for block in &answer.content {
        match block {
            ContentBlock::Text(text) if text.text.trim().is_empty() => {}
            ContentBlock::Text(text) => {
                all += 1;
                errors += usize::from(is_failed_text(&text.text));
            }
            _ => all += 1,
        }
    }
    // A hint beside it makes it no better; among several results one may be of an error.
    errors > 0 && errors * 2 >= all
}

/// Whether a text is, or has in JSON, what went wrong.
pub(super) fn is_failed_text(text: &str) -> bool {
    if text.len() > LONGEST_JSON {
        return false;
    }
    json::parse(text).map_or_else(|| is_message(text), |value| is_failed(&value))
}

/// Whether JSON is what went wrong.
pub(super) fn is_failed(value: &Value) -> bool {
    let mut value = value;
    for _ in 0..DEEPEST {
        match value {
            Value::String(text) => return is_message(text),
            Value::Object(members) if is_failed_object(members) => return true,
            Value::Object(members) => match (members.len(), members.values().next()) {
                (1, Some(inner @ Value::Object(_))) => value = inner,
                _ => return json::only_text(value).is_some_and(is_message),
            },
            Value::Array(items) => match items.as_slice() {
                [Value::String(text)] => return is_message(text),
                [Value::Object(members)] if json::is_block(members) => {
                    return json::only_text(value).is_some_and(is_message);
                }
                // One entry of a log may look like this, too, but has more to tell.
                [Value::Object(members)] => {
                    return members.keys().all(|name| OF_FAILURES.contains(&name.as_str()))
                        && is_failed_object(members);
                }
                _ => return false,
            },
            _ => return false,
        }
    }
    false
}

/// What went wrong, by name.
const ERRORS: [&str; 5] = ["error", "error_message", "errorMessage", "exception", "traceback"];
/// What else there is to say of it.
const REASONS: [&str; 6] = ["message", "msg", "detail", "details", "reason", "error_description"];
/// All that a failure has.
const OF_FAILURES: [&str; 20] = [
    "error",
    "error_message",
    "errorMessage",
    "exception",
    "traceback",
    "message",
    "msg",
    "detail",
    "details",
    "reason",
    "error_description",
    "success",
    "ok",
    "status",
    "statusCode",
    "status_code",
    "code",
    "type",
    "isError",
    "is_error",
];

fn is_failed_object(members: &Map<String, Value>) -> bool {
    let is = |names: &[&str], wanted: bool| {
        names.iter().any(|name| members.get(*name) == Some(&Value::Bool(wanted)))
    };
    if is_failed_reply(members) || is(&["isError", "is_error"], true) {
        return true;
    }
    let has_body = BODIES.iter().any(|name| members.get(*name).is_some_and(Value::is_string));
    let is_named =
        ["title", "name", "heading", "subject"].iter().any(|name| members.contains_key(*name));
    // An entry of a tracker has an error and a text.
    if (is_named && has_body) || json::has_results(members) {
        return false;
    }
    let has_reason = REASONS.iter().any(|name| members.get(*name).is_some_and(is_said));
    let is_word = |name: &str, words: &[&str]| {
        let told = members.get(name).and_then(Value::as_str);
        told.is_some_and(|told| words.iter().any(|word| told.eq_ignore_ascii_case(word)))
    };
    ERRORS.iter().any(|name| members.get(*name).is_some_and(is_said))
        || is(&["success", "ok"], false)
        || (has_reason && is_word("status", &["error", "failed", "failure", "fail"]))
        || (has_reason && is_word("type", &["error"]))
        || (!has_body && (has_reason || is_named) && has_http_error(members))
        || has_errors_alone(members)
}

/// Whether it is an MCP-AQL reply that is a failure.
pub(super) fn is_failed_reply(members: &Map<String, Value>) -> bool {
    members.get("success") == Some(&Value::Bool(false)) && members.contains_key("error")
}

/// Whether a member says anything: not `false`, 0, or an empty text.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// `{"status": 403, "title": "Forbidden"}`
fn has_http_error(members: &Map<String, Value>) -> bool {
    ["status", "statusCode", "status_code", "code"].iter().any(|name| {
        let code = members.get(*name).and_then(Value::as_u64);
        code.is_some_and(|code| (400..600).contains(&code))
    })
}

/// `{"errors": [{"message": …}], "data": null}`, as GraphQL has it.
fn has_errors_alone(members: &Map<String, Value>) -> bool {
    let Some(Value::Array(errors)) = members.get("errors") else { return false };
    let is_alone = members.iter().all(|(name, value)| match name.as_str() {
        "errors" | "extensions" | "meta" | "jsonapi" => true,
        "data" => value.is_null(),
        _ => false,
    });
    let is_error = |error: &Value| {
        error.is_string() || ["message", "detail"].iter().any(|name| error.get(*name).is_some())
    };
    is_alone && !errors.is_empty() && errors.iter().all(is_error)
}

/// Whether a text is what some servers answer with instead of an error.
pub(super) fn is_message(text: &str) -> bool {
    const BEGINNING: usize = 80;
    let text = text.trim();
    if text.len() > LONGEST {
        return false;
    }
    // Marks and pictures stand before, and around what is bold.
    let begin: String = text
        .trim_start_matches(|each: char| !each.is_alphanumeric())
        .chars()
        .filter(|each| !matches!(each, '*' | '_' | '`'))
        .take(BEGINNING)
        .collect::<String>()
        .to_lowercase();
    if SURE.iter().any(|start| begin.starts_with(start)) {
        return true;
    }
    let is_line = text.len() <= LONGEST_LINE && !text.contains('\n');
    let is_one = is_exception(&begin)
        || is_error(&begin)
        || (is_line && LINES.iter().any(|start| begin.starts_with(start)));
    let lower = || text.to_lowercase();
    is_one && !EXPLAINING.iter().any(|words| lower().contains(words))
}

/// `error:`, `ValueError:`, `java.io.IOException:`
fn is_exception(begin: &str) -> bool {
    let Some((name, _)) = begin.split_once(':') else { return false };
    let name = name.trim_end();
    let is_name =
        name.chars().all(|each| each.is_ascii_alphanumeric() || matches!(each, '.' | ' ' | '$'));
    is_name
        && name.split(' ').count() <= 3
        && (name.ends_with("error") || name.ends_with("exception"))
}

/// `error -32603`, `error [404]`, `error searching …`
fn is_error(begin: &str) -> bool {
    let Some(rest) = begin.strip_prefix("error ") else { return false };
    let is_code =
        rest.starts_with(['-', '[', '(']) || rest.starts_with(|each: char| each.is_ascii_digit());
    is_code || rest.split(' ').next().is_some_and(|word| DOING.contains(&word))
}
