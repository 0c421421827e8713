//! Checks of error messages.

use serde_json::Value;

use super::{errors, text};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::refusals::has_word;
use crate::checks::shapes::subject;
use crate::run::Run;

/// Removes the quotes from a message and converts it to lowercase.
fn unquoted(message: &str) -> String {
    message.replace(['\'', '"', '`'], "").to_lowercase()
}

/// Returns the possible beginnings of the message for an error code, with values from its details.
fn beginnings(code: &str, details: &Value) -> Vec<String> {
    let detail = |name: &str| match details.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(value @ Value::Number(_)) => Some(value.to_string()),
        _ => None,
    };
    let slots = SLOTS.iter().find(|(known, _)| *known == code).map_or(&[][..], |(_, slots)| slots);
    let filled = |parts: &[&str]| -> Option<String> {
        let mut text = String::new();
        for part in parts {
            match part.strip_prefix('$') {
                // Comparisons ignore quotes, but findings show them.
                Some(name) if slots.contains(&name) => {
                    text.push_str(&format!("'{}'", detail(name)?));
                }
                Some(name) => text.push_str(&detail(name)?),
                None => text.push_str(part),
            }
        }
        Some(text)
    };
    let templates: &[&[&str]] = match code {
        "VALIDATION_MISSING_PARAM" => &[&["Missing required parameter ", "$param_name"]],
        "VALIDATION_INVALID_TYPE" => &[&[
            "Parameter ",
            "$param_name",
            " expected ",
            "$expected_type",
            ", got ",
            "$actual_type",
        ]],
        // The protocol has two templates for this code.
        "VALIDATION_UNKNOWN_PARAM" => {
            &[&["Unknown parameter(s) for operation ", "$operation"], &["Unknown parameter"]]
        }
        "VALIDATION_INVALID_ENCODING" => &[&["Invalid character encoding in request"]],
        "VALIDATION_PAYLOAD_TOO_LARGE" => {
            &[&["Payload exceeds ", "$limit_type", " limit of ", "$limit_value"]]
        }
        "NOT_FOUND_OPERATION" => &[&["Unknown operation: ", "$operation"]],
        "NOT_FOUND_RESOURCE" => &[&["Resource ", "$resource_type", " not found: ", "$resource_id"]],
        "PERMISSION_DENIED" => &[&["Permission denied: ", "$reason"]],
        "INTERNAL_ERROR" => &[&["Internal error"]],
        "PERMISSION_TRUST_LEVEL_INSUFFICIENT" => {
            &[&["Operation ", "$operation", " requires trust level ", "$required_trust"]]
        }
        "PERMISSION_DANGER_LEVEL_DENIED" => &[&["Operation ", "$operation", " (danger: "]],
        "CONFIRMATION_REQUIRED" => &[&["This operation requires confirmation"]],
        "RATE_LIMIT_EXCEEDED" => &[&["API rate limit exceeded"]],
        "RATE_LIMIT_QUOTA_PAUSE" => &[&["Quota pause threshold reached"]],
        "RATE_LIMIT_QUOTA_EXHAUSTED" => &[&["Quota exhausted"]],
        "TOKEN_INVALID" => &[&["Invalid confirmation token"]],
        "TOKEN_EXPIRED" => &[&["Confirmation token has expired"]],
        "TOKEN_ALREADY_USED" => &[&["Confirmation token has already been used"]],
        "TOKEN_SCOPE_MISMATCH" => &[&["Confirmation token scope mismatch"]],
        _ => &[],
    };
    templates.iter().filter_map(|parts| filled(parts)).collect()
}

/// Returns `true` if the failure concerns a combination of paging parameters. No template exists for that.
fn is_about_many(error: &Value) -> bool {
    error.pointer("/details/param_name").is_some_and(|name| name == "pagination")
}

pub(super) fn template(run: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        if is_about_many(error) {
            continue;
        }
        let code = text(error, "code");
        let message = text(error, "message");
        let beginnings = beginnings(code, error.get("details").unwrap_or(&Value::Null));
        let Some(first) = beginnings.first() else { continue };
        let follows =
            beginnings.iter().any(|beginning| unquoted(message).starts_with(&unquoted(beginning)));
        cases.expect(follows, || {
            // A probe may call an operation with a random name. Then the code alone is the subject.
            let known = run.adapter.operation(exchange.operation());
            let subject = known.map_or(code.to_owned(), |known| format!("{}: {code}", known.name));
            Finding::of(exchange, subject).expected(format!("a message that begins with: {first}"))
        });
    }
}

/// Placeholders in the message templates for values of the request, by error code.
const SLOTS: [(&str, &[&str]); 6] = [
    ("VALIDATION_MISSING_PARAM", &["param_name"]),
    ("VALIDATION_INVALID_TYPE", &["param_name", "expected_type", "actual_type"]),
    ("VALIDATION_UNKNOWN_PARAM", &["operation"]),
    ("NOT_FOUND_OPERATION", &["operation"]),
    ("NOT_FOUND_RESOURCE", &["resource_type", "resource_id"]),
    ("TOKEN_SCOPE_MISMATCH", &["token_operation", "requested_operation"]),
];

pub(super) fn quoted(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        let (code, message) = (text(error, "code"), text(error, "message"));
        let slots = SLOTS.iter().find(|(known, _)| *known == code).map(|(_, slots)| *slots);
        let Some(slots) = slots else { continue };
        let bare = slots.iter().find_map(|slot| {
            let value =
                error.get("details")?.get(slot)?.as_str().filter(|value| !value.is_empty())?;
            let is_bare = has_word(message, value) && !message.contains(&format!("'{value}'"));
            is_bare.then_some(value)
        });
        cases.expect(bare.is_none(), || {
            let bare = bare.unwrap_or_default();
            Finding::of(exchange, format!("{}: {code}", subject(exchange)))
                .expected(format!("'{bare}' in single quotes in the message"))
        });
    }
}

pub(super) fn names_parameter(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        let (code, message) = (text(error, "code"), text(error, "message"));
        if !code.starts_with("VALIDATION_") || is_about_many(error) {
            continue;
        }
        let detail = |name: &str| error.get("details")?.get(name)?.as_str();
        let Some(parameter) = detail("param_name") else { continue };
        let expected = detail("expected_type").filter(|_| code == "VALIDATION_INVALID_TYPE");
        let says = message.contains(parameter)
            && expected.is_none_or(|expected| message.contains(expected))
            // The name alone does not explain the error.
            && message.len() > parameter.len() + 8;
        cases.expect(says, || {
            Finding::of(exchange, format!("{}: `{parameter}`", subject(exchange))).expected(
                match expected {
                    Some(expected) => {
                        format!("a message that names `{parameter}` and states `{expected}`")
                    }
                    None => {
                        format!("a message that names `{parameter}` and states the expected value")
                    }
                },
            )
        });
    }
}
