//! Checks of the form, the codes and the details of failures.

use serde_json::Value;

use super::{errors, text};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::shapes::{is_batch, subject};
use crate::forms::{ERROR, Form, must};
use crate::run::Run;

pub(super) fn form(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        ERROR.check(error, cases, || Finding::of(exchange, subject(exchange)));
    }
}

/// The prefixes of error codes by category.
const CATEGORIES: [&str; 8] = [
    "VALIDATION_",
    "NOT_FOUND_",
    "PERMISSION_",
    "CONFLICT_",
    "RATE_LIMIT_",
    "TOKEN_",
    "SCHEMA_",
    "INTERNAL_",
];

/// Error codes of the protocol without the prefix of a category, for batches, gates, introspection and plugins.
/// You need not list codes that start with one of [`CATEGORIES`].
const OTHERS: [&str; 16] = [
    "BATCH_VALIDATION_ERROR",
    "CONFIRMATION_REQUIRED",
    "INTROSPECTION_ERROR",
    "INVALID_QUERY_TYPE",
    "PLUGIN_NOT_FOUND",
    "TRANSPORT_DNS_ERROR",
    "TRANSPORT_CONNECTION_REFUSED",
    "TRANSPORT_TIMEOUT",
    "TRANSPORT_TLS_ERROR",
    "TRANSPORT_NETWORK_ERROR",
    "PROTOCOL_INVALID_MAPPING",
    "PROTOCOL_MISSING_PARAM",
    "SERIALIZATION_CIRCULAR_REF",
    "SERIALIZATION_PARSE_ERROR",
    "AUTH_CONFIG_INVALID",
    "AUTH_CREDENTIAL_MISSING",
];

/// Former error codes and their replacements.
const SUPERSEDED: [(&str, &str); 3] = [
    ("VALIDATION_UNKNOWN_OPERATION", "NOT_FOUND_OPERATION"),
    ("VALIDATION_ERROR", "the code of the violated rule"),
    ("RATE_LIMIT_QUOTA_WARNING", "a success with `warnings`"),
];

pub(super) fn registry(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        let code = text(error, "code");
        if code.is_empty() {
            cases.block("errors.form", "a failure has no `error.code`");
            continue;
        }
        let instead = SUPERSEDED.iter().find(|(old, _)| *old == code).map(|(_, new)| *new);
        let is_known = OTHERS.contains(&code)
            || CATEGORIES
                .iter()
                .any(|category| code.strip_prefix(category).is_some_and(|rest| !rest.is_empty()));
        cases.expect(is_known && instead.is_none(), || {
            Finding::of(exchange, format!("{}: {code}", subject(exchange))).expected(
                match instead {
                    Some(instead) => format!("{instead} instead of {code}"),
                    None => {
                        format!("a code of the protocol, or one of {}…", CATEGORIES.join("…, "))
                    }
                },
            )
        });
    }
}

/// The required form of `details` by error code.
///
/// If you add a code with required details, add their form here.
///
/// ```json
/// { "code": "VALIDATION_MISSING_PARAM", "message": "…", "details": { "param_name": "bed_id" } }
/// ```
const DETAILS: [(&str, Form); 15] = [
    ("VALIDATION_MISSING_PARAM", Form::Open(&[must("param_name", Form::Word)])),
    (
        "VALIDATION_INVALID_TYPE",
        Form::Open(&[
            must("param_name", Form::Word),
            must("expected_type", Form::Word),
            must("actual_type", Form::Word),
        ]),
    ),
    (
        "VALIDATION_UNKNOWN_PARAM",
        Form::Open(&[
            must("operation", Form::Word),
            must("unknown_params", Form::Some(&Form::Text)),
            must("valid_params", Form::List(&Form::Text)),
        ]),
    ),
    (
        "VALIDATION_PAYLOAD_TOO_LARGE",
        Form::Open(&[
            must("limit_type", Form::Word),
            must("limit_value", Form::Number),
            must("actual_value", Form::Number),
            must("unit", Form::Word),
        ]),
    ),
    ("NOT_FOUND_OPERATION", Form::Open(&[must("operation", Form::Text)])),
    (
        "PERMISSION_TRUST_LEVEL_INSUFFICIENT",
        Form::Open(&[
            must("operation", Form::Word),
            must("required_trust", Form::Word),
            must("actual_trust", Form::Word),
        ]),
    ),
    (
        "PERMISSION_DANGER_LEVEL_DENIED",
        Form::Open(&[
            must("operation", Form::Word),
            must("danger_level", Form::Word),
            must("adapter_trust", Form::Word),
            must("minimum_trust_required", Form::Any),
        ]),
    ),
    (
        "CONFIRMATION_REQUIRED",
        Form::Open(&[
            must("operation", Form::Word),
            must("danger_level", Form::Word),
            must("confirmation_token", Form::Word),
            must("expires_at", Form::Word),
        ]),
    ),
    (
        "RATE_LIMIT_EXCEEDED",
        Form::Open(&[
            // Null means that no time window applies, or that only another system knows it.
            must("limit", Form::Either(&[Form::Number, Form::Null])),
            must("remaining", Form::Number),
            must("window", Form::Either(&[Form::Word, Form::Number, Form::Null])),
            must("resets_at", Form::Either(&[Form::Word, Form::Null])),
            must("retry_after_seconds", Form::AtLeast(0.0)),
        ]),
    ),
    (
        "RATE_LIMIT_QUOTA_PAUSE",
        Form::Open(&[
            must("metric", Form::Word),
            must("current", Form::Number),
            must("pause_threshold", Form::Number),
            must("confirmation_token", Form::Word),
            must("expires_at", Form::Word),
        ]),
    ),
    (
        "RATE_LIMIT_QUOTA_EXHAUSTED",
        Form::Open(&[
            must("metric", Form::Word),
            must("current", Form::Number),
            must("hard_stop_threshold", Form::Number),
            must("resets_at", Form::Any),
        ]),
    ),
    ("TOKEN_INVALID", Form::Open(&[must("token", Form::Text)])),
    ("TOKEN_ALREADY_USED", Form::Open(&[must("token", Form::Text)])),
    (
        "TOKEN_EXPIRED",
        Form::Open(&[
            must("token", Form::Text),
            must("expired_at", Form::Word),
            must("current_time", Form::Word),
        ]),
    ),
    (
        "TOKEN_SCOPE_MISMATCH",
        Form::Open(&[
            must("token", Form::Text),
            must("token_operation", Form::Word),
            must("requested_operation", Form::Word),
        ]),
    ),
];

pub(super) fn details(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (operation, error) in errors(exchange) {
        // Failures of `introspect` and of whole batches do not have details (REQ-INT-28, REQ-BAT-06).
        if operation == "introspect" || (operation.is_empty() && is_batch(exchange)) {
            continue;
        }
        let code = text(error, "code");
        let form = DETAILS.iter().find(|(known, _)| *known == code).map(|(_, form)| form);
        let Some(form) = form else { continue };
        form.check(error.get("details").unwrap_or(&Value::Null), cases, || {
            Finding::of(exchange, format!("{}: {code}", subject(exchange)))
                .expected(format!("`error.details` of {code}: {{faults}}"))
        });
    }
}
