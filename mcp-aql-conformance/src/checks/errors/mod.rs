//! Checks of failures: codes, details and messages.

mod codes;
mod exposure;
mod messages;
mod missing_items;

use serde_json::Value;

use super::shapes::results;
use super::{Body, Check, later, of_level_1 as check, should};
use crate::call::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check(
        "errors.form",
        "`error` has `code`, `message` and optional `details` only",
        &["REQ-RSP-04", "REQ-ERR-01"],
        Body::Every(codes::form),
    ),
    check(
        "errors.registry",
        "Every code is one of the protocol's or has the prefix of its category",
        &["REQ-ERR-01", "REQ-ERR-02"],
        Body::Every(codes::registry),
    ),
    check(
        "errors.details",
        "Details have the members that the protocol requires for each code",
        &["REQ-ERR-02", "REQ-ERR-07", "REQ-ERR-10", "REQ-ENC-13"],
        Body::Every(codes::details),
    ),
    should(check(
        "errors.template",
        "Messages follow the template of their code",
        &["REQ-ERR-03", "REQ-ERR-06"],
        Body::Every(messages::template),
    )),
    check(
        "errors.quoted",
        "Messages quote values of the request in single quotes",
        &["REQ-ERR-03"],
        Body::Every(messages::quoted),
    ),
    should(check(
        "errors.names_parameter",
        "Messages about a parameter name it and its expected type",
        &["REQ-ERR-05"],
        Body::Every(messages::names_parameter),
    )),
    check(
        "errors.no_internals",
        "Messages do not expose internals of the program",
        &["REQ-ERR-04"],
        Body::Seen(exposure::no_internals),
    ),
    should(check(
        "errors.official_patterns",
        "Messages do not match the patterns that the protocol's own runner rejects",
        &["REQ-CNF-09"],
        Body::Every(exposure::official_patterns),
    )),
    should(check(
        "errors.not_found",
        "Reading a missing item fails with NOT_FOUND_RESOURCE",
        &["REQ-ERR-02", "REQ-ERR-08", "REQ-ERR-07"],
        Body::Reads(later!(missing_items::not_found)),
    )),
    should(check(
        "errors.echo",
        "Messages do not repeat the values of sensitive parameters",
        &["REQ-ERR-05", "REQ-INT-13"],
        Body::Reads(later!(exposure::echo)),
    )),
];

/// The failures in a reply, each with its operation.
fn errors(exchange: &Exchange) -> impl Iterator<Item = (&str, &Value)> {
    let failures = results(exchange).into_iter();
    failures
        .filter(|(_, result)| result.get("success") == Some(&Value::Bool(false)))
        .filter_map(|(operation, result)| Some((operation, result.get("error")?)))
}

fn text<'a>(error: &'a Value, name: &str) -> &'a str {
    error.get(name).and_then(Value::as_str).unwrap_or_default()
}
