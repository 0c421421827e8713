//! Checks of failures: codes, details and messages.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::{Value, json};

use super::shapes::{is_batch, results, subject};
use super::{Body, Check, later, of_level_1 as check, should};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::forms::{self, Form, may, must};
use crate::nouns::is_identifier;
use crate::run::{Run, arguments};
use crate::shape::Shape;
use crate::values;

pub(super) const CHECKS: &[Check] = &[
    check(
        "errors.form",
        "`error` has `code`, `message` and optional `details` only",
        &["REQ-RSP-04", "REQ-ERR-01"],
        Body::Every(form),
    ),
    check(
        "errors.registry",
        "Every code is one of the protocol's or has the prefix of its category",
        &["REQ-ERR-01", "REQ-ERR-02"],
        Body::Every(registry),
    ),
    check(
        "errors.details",
        "Details have the members that the protocol requires for each code",
        &["REQ-ERR-02", "REQ-ERR-07", "REQ-ERR-10", "REQ-ENC-13"],
        Body::Every(details),
    ),
    should(check(
        "errors.template",
        "Messages follow the template of their code",
        &["REQ-ERR-03", "REQ-ERR-06"],
        Body::Every(template),
    )),
    check(
        "errors.quoted",
        "Messages quote values of the request in single quotes",
        &["REQ-ERR-03"],
        Body::Every(quoted),
    ),
    should(check(
        "errors.names_parameter",
        "Messages about a parameter name it and its expected type",
        &["REQ-ERR-05"],
        Body::Every(names_parameter),
    )),
    check(
        "errors.no_internals",
        "Messages do not expose internals of the program",
        &["REQ-ERR-04"],
        Body::Seen(no_internals),
    ),
    should(check(
        "errors.official_patterns",
        "Messages do not match the patterns that the protocol's own runner rejects",
        &["REQ-CNF-09"],
        Body::Every(official_patterns),
    )),
    should(check(
        "errors.not_found",
        "Reading a missing item fails with NOT_FOUND_RESOURCE",
        &["REQ-ERR-02", "REQ-ERR-08", "REQ-ERR-07"],
        Body::Reads(later!(not_found)),
    )),
    should(check(
        "errors.echo",
        "Messages do not repeat the values of sensitive parameters",
        &["REQ-ERR-05", "REQ-INT-13"],
        Body::Reads(later!(echo)),
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

fn form(_: &Run, exchange: &Exchange, cases: &Cases) {
    const ERROR: Form = Form::Object(&[
        must("code", forms::CODE),
        must("message", Form::Word),
        may("details", Form::Open(&[])),
    ]);
    for (_, error) in errors(exchange) {
        ERROR.check(error, cases, |reported| {
            Finding::of(
                exchange,
                subject(exchange),
                format!("`error`: {reported}"),
                "give `error` a `code` in capitals and a `message`, and move other members into the object \
                 `error.details`",
            )
        });
    }
}

/// The prefixes of codes by category.
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

/// Codes of the protocol without a category's prefix: of batches, gates, introspection and plugins.
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

/// Former codes and their replacements.
const SUPERSEDED: [(&str, &str); 3] = [
    ("VALIDATION_UNKNOWN_OPERATION", "NOT_FOUND_OPERATION"),
    ("VALIDATION_ERROR", "the code that says which rule was broken"),
    ("RATE_LIMIT_QUOTA_WARNING", "a success with `warnings`"),
];

fn registry(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        let code = text(error, "code");
        let instead = SUPERSEDED.iter().find(|(old, _)| *old == code).map(|(_, new)| *new);
        let is_known = OTHERS.contains(&code)
            || CATEGORIES
                .iter()
                .any(|category| code.strip_prefix(category).is_some_and(|rest| !rest.is_empty()));
        cases.expect(is_known && instead.is_none(), || {
            Finding::of(
                exchange,
                format!("{}: {code}", subject(exchange)),
                match instead {
                    Some(instead) => format!("instead of {code}: {instead}"),
                    None => {
                        format!("a code of the protocol, or one of {}…", CATEGORIES.join("…, "))
                    }
                },
                "use the code of the registry that fits; VALIDATION_INVALID_VALUE, \
                 NOT_FOUND_RESOURCE, PERMISSION_DENIED and INTERNAL_ERROR cover most failures",
            )
        });
    }
}

/// The required form of `details` by code.
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
            // Null if no time window applies, or only another system knows it.
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

fn details(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (operation, error) in errors(exchange) {
        // Failures of `introspect` and of whole batches do not have details (REQ-INT-28, REQ-BAT-06).
        if operation == "introspect" || (operation.is_empty() && is_batch(exchange)) {
            continue;
        }
        let code = text(error, "code");
        let form = DETAILS.iter().find(|(known, _)| *known == code).map(|(_, form)| form);
        let Some(form) = form else { continue };
        form.check(error.get("details").unwrap_or(&Value::Null), cases, |reported| {
            Finding::of(
                exchange,
                format!("{}: {code}", subject(exchange)),
                format!("`error.details` of {code}: {reported}"),
                "fill in the details: programs correct their calls by them, not by the message",
            )
        });
    }
}

/// Removes the quotes from a message.
fn unquoted(message: &str) -> String {
    message.replace(['\'', '"', '`'], "").to_lowercase()
}

/// The possible beginnings of a code's message, filled with the values of its details.
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
                // The comparison ignores quotes, but the finding shows them.
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

/// Whether the failure concerns a combination of paging parameters, which has no template.
fn is_about_many(error: &Value) -> bool {
    error.pointer("/details/param_name").is_some_and(|name| name == "pagination")
}

fn template(run: &Run, exchange: &Exchange, cases: &Cases) {
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
            // The operation of a probe may be a random name; the code is the subject then.
            let known = run.adapter.operation(exchange.operation());
            let subject = known.map_or(code.to_owned(), |known| format!("{}: {code}", known.name));
            Finding::of(
                exchange,
                subject,
                format!("a message that begins with: {first}"),
                "begin with the template of the code, and continue with useful hints",
            )
        });
    }
}

/// The slots of templates that hold values of the request.
const SLOTS: [(&str, &[&str]); 6] = [
    ("VALIDATION_MISSING_PARAM", &["param_name"]),
    ("VALIDATION_INVALID_TYPE", &["param_name", "expected_type", "actual_type"]),
    ("VALIDATION_UNKNOWN_PARAM", &["operation"]),
    ("NOT_FOUND_OPERATION", &["operation"]),
    ("NOT_FOUND_RESOURCE", &["resource_type", "resource_id"]),
    ("TOKEN_SCOPE_MISMATCH", &["token_operation", "requested_operation"]),
];

/// Whether a message contains these words, not as a part of longer words.
fn has_word(message: &str, words: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    message.match_indices(words).any(|(at, _)| {
        let (before, rest) = message.split_at(at);
        let after = rest.strip_prefix(words).and_then(|after| after.chars().next());
        !is_part(before.chars().next_back()) && !is_part(after)
    })
}

fn quoted(_: &Run, exchange: &Exchange, cases: &Cases) {
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
            Finding::of(
                exchange,
                format!("{}: {code}", subject(exchange)),
                format!("'{bare}' in single quotes in the message"),
                "put values of the request into single quotes, so that they are not read as part of the \
                 sentence",
            )
        });
    }
}

fn names_parameter(_: &Run, exchange: &Exchange, cases: &Cases) {
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
            Finding::of(
                exchange,
                format!("{}: `{parameter}`", subject(exchange)),
                match expected {
                    Some(expected) => {
                        format!("a message that names `{parameter}` and states `{expected}`")
                    }
                    None => format!("a message that names `{parameter}` and states the expected value"),
                },
                "name the parameter and the expected value: models read the message before they try again",
            )
        });
    }
}

fn no_internals(run: &Run, cases: &Cases) {
    let (leaks, paths) = (run.seen().leaks, run.paths());
    cases.expect(leaks.count + paths.count == 0, || {
        Finding::shown(
            "messages of errors",
            [leaks.first, paths.first].concat(),
            "messages without class names, file paths or stack traces",
            "return INTERNAL_ERROR with a general message, and write the details to the log",
        )
    });
}

/// The patterns that the protocol's own runner rejects in messages.
static OFFICIAL: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        r"(?i)(?:type|reference|syntax)error",
        r"(?i)at\s+\S+",
        r"(?i)/(?:src|node_modules)/",
        r"(?i)\.[tj]s:[0-9]+",
    ])
    .ok()
});

/// Removes the descriptions of parameters from a message, which must repeat them (REQ-ERR-06).
fn without_descriptions(run: &Run, operation: &str, message: &str) -> String {
    let mut rest = message.to_owned();
    let parameters = run.adapter.operation(operation).into_iter().flat_map(|it| &it.parameters);
    for parameter in parameters {
        let description = parameter.member("description").and_then(Value::as_str);
        let description = description.unwrap_or_default().trim().trim_end_matches('.');
        let sentence = description.split(". ").next().unwrap_or_default();
        for quoted in [description, sentence].into_iter().filter(|quoted| !quoted.is_empty()) {
            rest = rest.replace(quoted, "");
        }
    }
    rest
}

fn official_patterns(run: &Run, exchange: &Exchange, cases: &Cases) {
    for (operation, error) in errors(exchange) {
        let message = without_descriptions(run, operation, text(error, "message"));
        let is_hit = OFFICIAL.as_ref().is_some_and(|official| official.is_match(&message));
        cases.expect(!is_hit, || {
            Finding::of(
                exchange,
                format!("{}: {}", subject(exchange), text(error, "code")),
                "a message without the names of language errors, paths, and `at` before another word: \
                 the protocol's own runner rejects these",
                "rephrase the message: the runner takes `format x`, `that x` and `at x` for lines of a \
                 stack trace",
            )
        });
    }
}

async fn not_found(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in run.adapter.reads() {
        for parameter in operation.required() {
            if is_identifier(&parameter.name) && parameter.member("enum").is_none() {
                is_any = true;
                read_missing_item(run, operation, parameter, cases).await;
            }
        }
    }
    if !is_any {
        cases.not_applicable("no READ operation requires an identifier");
    }
}

async fn read_missing_item(run: &Run, operation: &Operation, parameter: &Parameter, cases: &Cases) {
    // Only this parameter names a missing item, so the failure concerns it.
    let found = run.valid(operation).or_else(|_| run.with_missing_ids(operation));
    let Some(mut params) = cases.ok_or_skip(found) else { return };
    let Some(value) = values::missing_id(run, operation, parameter) else {
        return cases.skip(Skip::NoFixture(format!(
            "a `{}` of `{}` that does not exist",
            parameter.name, operation.name
        )));
    };
    params.insert(parameter.name.clone(), value);
    let Some(exchange) = run.call(operation, params, cases).await else { return };
    let is_reported = exchange.failure().is_some_and(|failure| {
        failure.code == "NOT_FOUND_RESOURCE"
            && ["resource_type", "resource_id"]
                .iter()
                .all(|name| failure.details.get(name).is_some())
    });
    cases.expect(is_reported, || {
        Finding::of(
            &exchange,
            format!("{}: `{}`", operation.name, parameter.name),
            "a failure NOT_FOUND_RESOURCE with `resource_type` and `resource_id` in its details, because \
             the item does not exist",
            "return NOT_FOUND_RESOURCE with `resource_type` and `resource_id` in its details: an empty \
             success hides that the item does not exist",
        )
    });
}

/// A distinctive value.
const SECRET: &str = "Conformance-Secret-7141";

async fn echo(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in &run.adapter.operations {
        for parameter in &operation.parameters {
            if parameter.member("sensitive") != Some(&Value::Bool(true)) {
                continue;
            }
            is_any = true;
            let shape = Shape::of(&run.adapter, parameter);
            let wrong = [
                json!([SECRET]),
                json!({ SECRET: SECRET }),
                json!(SECRET.repeat(200)),
                json!(format!("{SECRET}\u{1}")),
                json!(SECRET),
            ];
            for value in wrong.into_iter().filter(|value| !shape.accepts(value)) {
                try_secret(run, operation, parameter, value, cases).await;
            }
        }
    }
    if !is_any {
        cases.not_applicable("no parameter is documented as sensitive");
    }
}

async fn try_secret(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    value: Value,
    cases: &Cases,
) {
    let Some(mut params) = cases.ok_or_skip(run.with_missing_ids(operation)) else { return };
    params.insert(parameter.name.clone(), value);
    let call = arguments(&operation.name, params);
    let Some(exchange) = run.refused(&operation.tool, call, cases).await else { return };
    let is_kept = !exchange.received().to_string().contains(SECRET);
    cases.expect(is_kept, || {
        Finding::of(
            &exchange,
            format!("{}: `{}`", operation.name, parameter.name),
            "a reply without the submitted value",
            "do not put the values of sensitive parameters into messages or details: clients store and log \
             replies",
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_whole_words_only() {
        for (message, words) in [("id is missing", "id"), ("no such 'x'", "x"), ("a b, c", "b, c")]
        {
            assert!(has_word(message, words), "{message}");
        }
        for (message, words) in [("Invalid", "id"), ("an execution", "x"), ("bed_id", "id")] {
            assert!(!has_word(message, words), "{message}");
        }
    }
}
