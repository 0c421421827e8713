//! Checks of missing parameters, and of the order in which mistakes are reported.

use serde_json::{Map, Value};

use super::{
    all, concerns_parameters, each_parameter, is_harmless, is_unread_failure_about, refuses, with,
};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Failure};
use crate::cases::{Cases, Finding};
use crate::checks::planned::{CallReply, PlannedCall};
use crate::run::Run;
use crate::shape::Fault;
use crate::values;

/// Plans a call for each required parameter of every operation.
///
/// `change` changes this parameter. It returns `false` if no call is needed.
fn required_each<'r>(
    run: &'r Run,
    cases: &Cases,
    change: impl Fn(&mut Map<String, Value>, &Parameter) -> bool,
) -> Vec<PlannedCall<'r>> {
    let requires = |it: &Operation| it.name != "introspect" && it.required().next().is_some();
    if !run.adapter.operations.iter().any(requires) {
        cases.not_applicable("no operation requires a parameter");
    }
    each_parameter(run, cases, |operation, parameter, params| {
        let mut params = params.clone();
        let is_changed = parameter.required && change(&mut params, parameter);
        is_changed.then(|| PlannedCall::invalid(operation, params))
    })
}

/// Plans calls without one of the required parameters each.
pub(super) fn without_each<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    required_each(run, cases, |params, parameter| {
        params.remove(&parameter.name);
        true
    })
}

/// Plans calls with null for one of the required parameters each. A nullable parameter states this in its type.
pub(super) fn null_each<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    required_each(run, cases, |params, parameter| {
        params.insert(parameter.name.clone(), Value::Null);
        !parameter.kind.contains("null") && parameter.kind != "any"
    })
}

pub(super) fn is_reported(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    let name = it.parameter();
    let is_reported = it.failure().is_some_and(|failure| {
        failure.code == "VALIDATION_MISSING_PARAM"
            && failure.message.contains(name)
            && failure.details.get("param_name").is_some_and(|reported| reported == name)
    });
    Some(is_reported || is_unread_failure_about(it.reply, name))
}

/// Returns the failure of a call without a required parameter. Another check reports other codes.
fn missing_param<'a>(it: &CallReply<'a>) -> Option<Failure<'a>> {
    concerns_parameters(it)?;
    it.failure().filter(|failure| failure.code == "VALIDATION_MISSING_PARAM")
}

pub(super) fn has_type(it: &CallReply<'_>) -> Option<bool> {
    let message = missing_param(it)?.message;
    let start = format!("Missing required parameter '{}'", it.parameter());
    Some(message.starts_with(&start) && message.contains("Expected: "))
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

pub(super) fn has_description(it: &CallReply<'_>) -> Option<bool> {
    let failure = missing_param(it)?;
    let description = it.call.parameter?.member("description").and_then(Value::as_str);
    let wanted = beginning(description?);
    it.word("description", wanted);
    let texts = format!("{} {}", failure.message, failure.details).to_lowercase();
    (!wanted.is_empty()).then(|| texts.contains(&wanted.to_lowercase()))
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

pub(super) fn is_null_rejected(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    let codes = ["VALIDATION_MISSING_PARAM", "VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_VALUE"];
    Some(refuses(it.reply, &codes, it.parameter()))
}

/// Plans calls with null for one of the optional parameters each.
pub(super) fn null_optional<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let has_any = |operation: &Operation| {
        operation.name != "introspect" && operation.parameters.iter().any(|one| !one.required)
    };
    if !run.adapter.operations.iter().any(has_any) {
        cases.not_applicable("no operation has an optional parameter");
    }
    each_parameter(run, cases, |operation, parameter, params| {
        let params = with(params, operation, &parameter.name, Value::Null);
        let is_called = !parameter.required && is_harmless(operation);
        is_called.then(|| PlannedCall::new(operation, params))
    })
}

pub(super) fn is_orderly(it: &CallReply<'_>) -> Option<bool> {
    let code = it.code();
    Some(it.reply.succeeded() || (!code.is_empty() && !code.starts_with("INTERNAL_")))
}

/// Plans calls with two mistakes each.
pub(super) fn two_mistakes<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = all(run, cases).into_iter().flat_map(|(operation, params)| {
        mixtures(run, operation, &params).into_iter().map(move |(params, code, what)| {
            PlannedCall::invalid(operation, params).word("code", code).word("mistakes", what)
        })
    });
    calls.collect()
}

pub(super) fn is_in_order(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    let code = it.call.text("code");
    if it.reply.succeeded() {
        // A call that does not fail shows no order.
        it.cases.block(reporter(code), "the invalid call was not rejected");
        return None;
    }
    Some(it.code() == code)
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
