//! Checks of failures: codes, details and messages.

mod codes;
mod exposure;
mod messages;

use serde_json::Value;

use super::shapes::results;
use super::{Check, checks};
use crate::call::Exchange;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "errors.form" => Every(codes::form), ["REQ-RSP-04", "REQ-ERR-01"],
        "`error` has `code`, `message` and optional `details` only",
        expected: "`error`: {faults}",
        fix: "give `error` a `code` in capitals and a `message`, and move other members into the object \
         `error.details`";
    Must 1 "errors.registry" => Every(codes::registry), ["REQ-ERR-01", "REQ-ERR-02"],
        "Every code is one of the protocol's or has the prefix of its category",
        fix: "use the matching code of the protocol's registry; VALIDATION_INVALID_VALUE, NOT_FOUND_RESOURCE, \
         PERMISSION_DENIED and INTERNAL_ERROR cover most failures";
    Must 1 "errors.details" => Every(codes::details),
        ["REQ-ERR-02", "REQ-ERR-07", "REQ-ERR-10", "REQ-ENC-13"],
        "Details have the members that the protocol requires for each code",
        fix: "fill in the details: programs correct their calls by them, not by the message";
    Should 1 "errors.template" => Every(messages::template), ["REQ-ERR-03", "REQ-ERR-06"],
        "Messages follow the template of their code",
        fix: "begin with the template of the code, and continue with useful hints";
    Must 1 "errors.quoted" => Every(messages::quoted), ["REQ-ERR-03"],
        "Messages quote values of the request in single quotes",
        fix: "put values of the request into single quotes, so that they are not read as part of the sentence";
    Should 1 "errors.names_parameter" => Every(messages::names_parameter), ["REQ-ERR-05"],
        "Messages about a parameter name it and its expected type",
        fix: "name the parameter and the expected value: models read the message before they try again";
    Must 1 "errors.no_internals" => Seen(exposure::no_internals), ["REQ-ERR-04"],
        "Messages do not expose internals of the program",
        expected: "messages without class names, file paths or stack traces",
        fix: "return INTERNAL_ERROR with a general message, and write the details to the log";
    Should 1 "errors.official_patterns" => Every(exposure::official_patterns), ["REQ-CNF-09"],
        "Messages do not match the patterns that the protocol's own runner rejects",
        expected: "a message without names such as TypeError, without file paths, and without `at` before another \
         word: the protocol's own runner rejects these",
        fix: "rephrase the message, or move the words into the details: that runner mistakes `format x`, `that x` \
         and `at x` for lines of a stack trace";
    Should 1 "errors.not_found" => Reads { calls: exposure::missing_items, rule: exposure::is_not_found },
        ["REQ-ERR-02", "REQ-ERR-08", "REQ-ERR-07"],
        "Reading a missing item fails with NOT_FOUND_RESOURCE",
        expected: "a failure NOT_FOUND_RESOURCE with `resource_type` and `resource_id` in its details, because the \
         item does not exist",
        fix: "return NOT_FOUND_RESOURCE with `resource_type` and `resource_id` in its details: an empty success \
         hides that the item does not exist";
    Should 1 "errors.echo" => Reads { calls: exposure::secrets, rule: exposure::is_kept }, ["REQ-ERR-05", "REQ-INT-13"],
        "Messages do not repeat the values of sensitive parameters",
        expected: "a reply without the submitted value",
        fix: "do not put the values of sensitive parameters into messages or details: clients store and log replies";
];

/// Returns the failures in a reply, each with its operation.
fn errors(exchange: &Exchange) -> impl Iterator<Item = (&str, &Value)> {
    let failures = results(exchange).into_iter();
    failures
        .filter(|(_, result)| result.get("success") == Some(&Value::Bool(false)))
        .filter_map(|(operation, result)| Some((operation, result.get("error")?)))
}

fn text<'a>(error: &'a Value, name: &str) -> &'a str {
    error.get(name).and_then(Value::as_str).unwrap_or_default()
}
