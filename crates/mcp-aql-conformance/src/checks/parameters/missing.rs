//! Checks of missing parameters, and of the order in which mistakes are reported.

use serde_json::{Map, Value};

use super::{all, is_harmless, is_unread_failure_about, refused, refuses, subject, with};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::{Run, arguments, do_all};
use crate::shape::Fault;
use crate::values;

/// Calls every operation several times, each time without one of its required parameters.
async fn without_each(run: &Run, cases: &Cases, look: impl Fn(&Operation, &Parameter, &Exchange)) {
    let look = &look;
    let calls = all(run, cases).into_iter().flat_map(|(operation, params)| {
        operation.required().map(move |parameter| {
            let mut params = params.clone();
            params.remove(&parameter.name);
            (operation, parameter, params)
        })
    });
    let jobs = calls.map(|(operation, parameter, params)| async move {
        let sent = arguments(&operation.name, params);
        if let Some(exchange) = refused(run, operation, sent, cases).await {
            look(operation, parameter, &exchange);
        }
    });
    do_all(jobs).await;
    none_required(run, cases);
}

fn none_required(run: &Run, cases: &Cases) {
    if run
        .adapter
        .operations
        .iter()
        .all(|operation| operation.name == "introspect" || operation.required().next().is_none())
    {
        cases.not_applicable("no operation requires a parameter");
    }
}

pub(super) async fn missing_required(run: &Run, cases: &Cases) {
    without_each(run, cases, |operation, parameter, exchange| {
        let name = &parameter.name;
        let is_reported = is_unread_failure_about(exchange, name)
            || exchange.failure().is_some_and(|failure| {
                failure.code == "VALIDATION_MISSING_PARAM"
                    && failure.message.contains(name.as_str())
                    && failure.details.get("param_name").is_some_and(|reported| reported == name)
            });
        cases.expect(is_reported, || {
            Finding::of(exchange, subject(operation, parameter)).expected(format!(
                "VALIDATION_MISSING_PARAM with `{name}` in its message and in \
                     `details.param_name`"
            ))
        });
    })
    .await;
}

pub(super) async fn missing_text(run: &Run, cases: &Cases) {
    without_each(run, cases, |operation, parameter, exchange| {
        // Another check reports other codes.
        let Some(failure) = exchange.failure() else { return };
        if failure.code != "VALIDATION_MISSING_PARAM" {
            return;
        }
        let start = format!("Missing required parameter '{}'", parameter.name);
        let is_reported =
            failure.message.starts_with(&start) && failure.message.contains("Expected: ");
        cases.expect(is_reported, || {
            Finding::of(exchange, subject(operation, parameter))
                .expected(format!("a message like \"{start}. Expected: {} (…)\"", parameter.kind))
        });
    })
    .await;
}

/// Returns the start of a description: its first sentence up to the first punctuation, shortened to whole words within
/// the limit.
///
/// Error messages that quote the description are expected to contain this part.
fn beginning(description: &str) -> &str {
    const MAX_BYTES: usize = 40;
    let line = description.trim().lines().next().unwrap_or_default();
    let sentence = line.split([',', ':', ';', '(']).next().unwrap_or_default();
    let sentence = sentence.split(". ").next().unwrap_or_default().trim().trim_end_matches('.');
    if sentence.len() <= MAX_BYTES {
        return sentence;
    }
    let spaces = sentence.match_indices(' ').map(|(at, _)| at);
    let end = spaces.take_while(|at| *at <= MAX_BYTES).last();
    end.and_then(|end| sentence.get(..end)).unwrap_or(sentence)
}

pub(super) async fn missing_description(run: &Run, cases: &Cases) {
    without_each(run, cases, |operation, parameter, exchange| {
        // The check `parameters.missing_required` reports other codes.
        let Some(failure) = exchange.failure() else { return };
        let description = parameter.member("description").and_then(Value::as_str);
        let wanted = beginning(description.unwrap_or_default());
        if failure.code != "VALIDATION_MISSING_PARAM" || wanted.is_empty() {
            return;
        }
        let texts = format!("{} {}", failure.message, failure.details);
        let is_kept = texts.to_lowercase().contains(&wanted.to_lowercase());
        cases.expect(is_kept, || {
            Finding::of(exchange, subject(operation, parameter)).expected(format!(
                "a message like \"Missing required parameter '{}'. Expected: {} ({wanted} …)\"",
                parameter.name, parameter.kind
            ))
        });
    })
    .await;
}

/// Returns the parameter that a failure reports as missing although introspection documents it as optional.
pub(super) fn optional<'a>(operation: &'a Operation, exchange: &Exchange) -> Option<&'a str> {
    let failure = exchange.failure().filter(|it| it.code == "VALIDATION_MISSING_PARAM")?;
    let missed = operation.parameter(failure.details.get("param_name")?.as_str()?)?;
    (!missed.required).then_some(missed.name.as_str())
}

/// Examines calls with exactly the required parameters.
///
/// Introspection cannot express that one optional parameter requires another one.
pub(super) fn required_agree(run: &Run, exchange: &Exchange, cases: &Cases) {
    let params = exchange.arguments.get("params").and_then(Value::as_object);
    let Some((operation, params)) = run.adapter.operation(exchange.operation()).zip(params) else {
        return;
    };
    let is_bare = operation.name != "introspect"
        && exchange.arguments.as_object().is_some_and(|arguments| arguments.len() == 2)
        && params.len() == operation.required().count()
        && operation.required().all(|one| params.get(&one.name).is_some_and(|it| !it.is_null()));
    if !is_bare || exchange.body().is_none() {
        return;
    }
    let missed = optional(operation, exchange);
    cases.expect(missed.is_none(), || {
        let missed = missed.unwrap_or_default();
        Finding::of(exchange, format!("{}: {missed}", operation.name)).expected(format!(
            "`{missed}` not to be required, because introspection shows it as optional"
        ))
    });
}

pub(super) async fn null_required(run: &Run, cases: &Cases) {
    let calls = all(run, cases).into_iter().flat_map(|(operation, params)| {
        operation.required().map(move |parameter| {
            let mut params = params.clone();
            params.insert(parameter.name.clone(), Value::Null);
            (operation, parameter, params)
        })
    });
    let jobs = calls
        // A nullable parameter states this in its type.
        .filter(|(_, parameter, _)| !parameter.kind.contains("null") && parameter.kind != "any")
        .map(|(operation, parameter, params)| async move {
            let sent = arguments(&operation.name, params);
            let Some(exchange) = refused(run, operation, sent, cases).await else { return };
            let codes =
                ["VALIDATION_MISSING_PARAM", "VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_VALUE"];
            cases.expect(refuses(&exchange, &codes, &parameter.name), || {
                Finding::of(&exchange, subject(operation, parameter)).expected(format!(
                    "VALIDATION_MISSING_PARAM or VALIDATION_INVALID_TYPE that names `{}`",
                    parameter.name
                ))
            });
        });
    do_all(jobs).await;
    none_required(run, cases);
}

pub(super) async fn null_optional(run: &Run, cases: &Cases) {
    let calls = all(run, cases)
        .into_iter()
        .filter(|(operation, _)| is_harmless(operation))
        .flat_map(|(operation, params)| {
            let optional = operation.parameters.iter().filter(|parameter| !parameter.required);
            optional.map(move |parameter| {
                let params = with(&params, operation, &parameter.name, Value::Null);
                (operation, parameter, params)
            })
        });
    let jobs = calls.map(|(operation, parameter, params)| async move {
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        let is_orderly = exchange.succeeded()
            || exchange.code().is_some_and(|code| !code.starts_with("INTERNAL_"));
        cases.expect(is_orderly, || Finding::of(&exchange, subject(operation, parameter)));
    });
    do_all(jobs).await;
    if run.adapter.operations.iter().all(|operation| {
        operation.name == "introspect"
            || operation.parameters.iter().all(|parameter| parameter.required)
    }) {
        cases.not_applicable("no operation has an optional parameter");
    }
}

pub(super) async fn order(run: &Run, cases: &Cases) {
    let jobs = all(run, cases).into_iter().flat_map(|(operation, params)| {
        mixtures(run, operation, &params).into_iter().map(move |(params, code, what)| async move {
            let sent = arguments(&operation.name, params);
            let Some(exchange) = refused(run, operation, sent, cases).await else { return };
            if exchange.succeeded() {
                // A call that does not fail shows no order.
                return cases.block(reporter(code), "the invalid call was not rejected");
            }
            cases.expect(exchange.code() == Some(code), || {
                Finding::of(&exchange, &operation.name).expected(format!("{code}: {what}"))
            });
        })
    });
    do_all(jobs).await;
}

/// Returns the check that reports calls that succeed instead of failing with this code.
fn reporter(code: &str) -> &'static str {
    match code {
        "VALIDATION_MISSING_PARAM" => "parameters.missing_required",
        "VALIDATION_INVALID_TYPE" => "parameters.wrong_type",
        _ => "parameters.unknown_nested",
    }
}

/// Returns parameters with two mistakes each, the error code of the mistake to report, and a description.
fn mixtures(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
) -> Vec<(Map<String, Value>, &'static str, &'static str)> {
    let mut mixtures = Vec::new();
    let unknown = (run.absent_parameter(operation), Value::from(1));
    let wrong = |wanted: fn(Fault) -> bool| {
        operation.parameters.iter().find_map(|parameter| {
            let mut wrong = values::wrong(run, operation, parameter).into_iter();
            let wrong = wrong.find(|wrong| wanted(wrong.fault))?;
            Some((parameter.name.clone(), wrong.value))
        })
    };
    let of_type = wrong(|fault| fault == Fault::Type);
    let constraint = wrong(|fault| {
        matches!(fault, Fault::Word | Fault::Below | Fault::Above | Fault::Short | Fault::Long)
    });
    if let Some(required) = operation.required().next() {
        let mut lacking = params.clone();
        lacking.remove(&required.name);
        if let Some((name, value)) = of_type.clone().filter(|(name, _)| *name != required.name) {
            let mut lacking = lacking.clone();
            lacking.insert(name, value);
            mixtures.push((
                lacking,
                "VALIDATION_MISSING_PARAM",
                "one is missing, another has a wrong type",
            ));
        }
        lacking.extend([unknown.clone()]);
        mixtures.push((lacking, "VALIDATION_MISSING_PARAM", "one is missing, another is unknown"));
    }
    if let Some(of_type) = of_type {
        let mut params = params.clone();
        params.extend([of_type, unknown.clone()]);
        mixtures.push((
            params,
            "VALIDATION_INVALID_TYPE",
            "one has a wrong type, another is unknown",
        ));
    }
    if let Some(constraint) = constraint {
        let mut params = params.clone();
        params.extend([constraint, unknown]);
        mixtures.push((
            params,
            "VALIDATION_UNKNOWN_PARAM",
            "one is unknown, another breaks a constraint",
        ));
    }
    mixtures
}
