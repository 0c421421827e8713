//! Checks of unknown parameter names.

use serde_json::{Map, Value, json};

use super::{all, concerns_parameters, is_harmless, refused, subject, with};
use crate::adapter::Operation;
use crate::adapter::STANDARD_PARAMETERS;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::checks::planned::{CallReply, PlannedCall};
use crate::run::{Run, arguments, do_all};
use crate::shape::{Fault, Shape};

/// Further parameter names with a common meaning.
const USUAL: [&str; 3] = ["page", "page_size", "dry_run"];

/// Returns `true` if a failure reports these names as unknown. If the error has no code, the message is sufficient.
fn tells_unknown(exchange: &Exchange, names: &[&str]) -> bool {
    exchange.failure().is_some_and(|failure| {
        let reported = failure.details.get("unknown_params").and_then(Value::as_array);
        if failure.code.is_empty() {
            return names.iter().all(|name| failure.message.contains(name));
        }
        failure.code == "VALIDATION_UNKNOWN_PARAM"
            && failure.details.get("valid_params").is_some_and(Value::is_array)
            && names.iter().all(|name| {
                failure.message.contains(name)
                    && reported
                        .is_some_and(|reported| reported.iter().any(|reported| reported == name))
            })
    })
}

/// Plans calls with a name that the operation does not have, in `params`.
pub(super) fn nested<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = all(run, cases).into_iter().map(|(operation, mut params)| {
        let name = run.absent_parameter(operation);
        params.insert(name.clone(), json!(1));
        PlannedCall::invalid(operation, params).word("name", name)
    });
    calls.collect()
}

/// Plans calls with a name that the operation does not have, next to `operation`.
pub(super) fn top_level<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = all(run, cases).into_iter().map(|(operation, params)| {
        let name = run.absent_parameter(operation);
        let sent = json!({ "operation": operation.name, "params": params, name.as_str(): 1 });
        PlannedCall::invalid(operation, params).sending(sent).word("name", name)
    });
    calls.collect()
}

pub(super) const UNKNOWN_FIX: &str =
    "reject undocumented names, in `params` and next to `operation`, before the operation runs";

pub(super) fn is_named(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    Some(tells_unknown(it.reply, &[it.call.text("name")]))
}

/// Plans calls with two names that the operation does not have.
pub(super) fn two<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = all(run, cases).into_iter().map(|(operation, mut params)| {
        let first = run.absent_parameter(operation);
        let second = format!("{first}_too");
        params.extend([(first.clone(), json!(1)), (second.clone(), json!(1))]);
        PlannedCall::invalid(operation, params).word("first", first).word("second", second)
    });
    calls.collect()
}

pub(super) fn are_named(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    it.readable()?;
    // The check `parameters.unknown_nested` reports replies without any name.
    (it.code() == "VALIDATION_UNKNOWN_PARAM")
        .then(|| tells_unknown(it.reply, &[it.call.text("first"), it.call.text("second")]))
}

/// Plans calls with a name that begins with an underscore, next to `operation` and in `params`.
pub(super) fn reserved<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    const NAME: &str = "_conformance_probe";
    let harmless = all(run, cases).into_iter().filter(|(operation, _)| is_harmless(operation));
    let calls = harmless.flat_map(|(operation, params)| {
        let beside = json!({ "operation": operation.name, "params": params, NAME: "label" });
        let mut inside = params.clone();
        inside.insert(NAME.to_owned(), json!("label"));
        [PlannedCall::new(operation, params).sending(beside), PlannedCall::new(operation, inside)]
    });
    calls.collect()
}

pub(super) fn is_ignored(it: &CallReply<'_>) -> Option<bool> {
    it.readable()?;
    Some(it.code() != "VALIDATION_UNKNOWN_PARAM")
}

/// Returns `true` if the operation ignores a name that no adapter documents.
///
/// Such an operation ignores every unknown name, and `parameters.unknown_nested` reports that.
async fn ignores_unknown(run: &Run, operation: &Operation, params: &Map<String, Value>) -> bool {
    let unheard = Cases::default();
    let mut params = params.clone();
    params.insert(run.absent_parameter(operation), json!(1));
    let sent = arguments(&operation.name, params);
    let control = refused(run, operation, sent, &unheard).await;
    control.is_some_and(|control| control.succeeded())
}

/// Blocks a case of an operation that ignores unknown names.
fn block(cases: &Cases) {
    cases.block("parameters.unknown_nested", "the operation ignores every unknown name");
}

pub(super) async fn undocumented(run: &Run, cases: &Cases) {
    let jobs = all(run, cases).into_iter().map(|(operation, params)| async move {
        let names: Vec<_> = STANDARD_PARAMETERS
            .into_iter()
            .chain(USUAL)
            .filter(|name| operation.parameter(name).is_none() && !params.contains_key(*name))
            .collect();
        let mut all = params.clone();
        all.extend(names.iter().map(|name| ((*name).to_owned(), plausible(name))));
        let sent = arguments(&operation.name, all);
        let Some(exchange) = refused(run, operation, sent, cases).await else { return };
        if exchange.succeeded() && ignores_unknown(run, operation, &params).await {
            return block(cases);
        }
        // One call tests all names if the reply reports all of them. Otherwise each name needs its own call.
        for name in names {
            if tells_unknown(&exchange, &[name]) {
                cases.pass();
                continue;
            }
            let mut params = params.clone();
            params.insert(name.to_owned(), plausible(name));
            let sent = arguments(&operation.name, params);
            let Some(exchange) = refused(run, operation, sent, cases).await else { return };
            let is_refused = exchange.code() == Some("VALIDATION_UNKNOWN_PARAM");
            cases.expect(is_refused, || {
                Finding::of(&exchange, format!("{}: {name}", operation.name)).expected(format!(
                    "VALIDATION_UNKNOWN_PARAM for `{name}`, which introspection does not document"
                ))
            });
        }
    });
    do_all(jobs).await;
}

/// Returns a value that an operation with this parameter would accept.
fn plausible(name: &str) -> Value {
    match name {
        "filter" => json!({}),
        "sort" => json!({ "field": "id" }),
        "aggregate" => json!({ "conformance": { "count": true } }),
        "fields" => json!("minimal"),
        "query" | "after" | "before" => json!("conformance"),
        "include_items" | "dry_run" => json!(true),
        _ => json!(1),
    }
}

pub(super) async fn camel_case(run: &Run, cases: &Cases) {
    let mut calls = Vec::new();
    for (operation, params) in all(run, cases) {
        for parameter in operation.parameters.iter().filter(|parameter| !parameter.required) {
            let Some(camel) = camel(operation, &parameter.name) else { continue };
            // A value of a wrong type is rejected even if the spelling is accepted.
            let wrong = Shape::of(&run.adapter, parameter).wrong();
            let wrong = wrong.into_iter().find(|wrong| wrong.fault == Fault::Type);
            let Some(wrong) = wrong else { continue };
            // Keep configured parameters, because the default could affect more data.
            let is_named = params.contains_key(&parameter.name);
            let mut params = if is_named {
                params.clone()
            } else {
                let mut params = with(&params, operation, &parameter.name, Value::Null);
                params.remove(&parameter.name);
                params
            };
            let bare = params.clone();
            params.insert(camel, wrong.value);
            calls.push((operation, parameter, (params, bare), is_named));
        }
    }
    let has_any = |operation: &Operation| {
        operation.name != "introspect"
            && operation
                .parameters
                .iter()
                .any(|one| !one.required && camel(operation, &one.name).is_some())
    };
    if !run.adapter.operations.iter().any(has_any) {
        cases.not_applicable("no optional parameter has a name of several words");
    }
    let jobs =
        calls.into_iter().map(|(operation, parameter, (params, bare), is_named)| async move {
            let sent = arguments(&operation.name, params);
            let Some(exchange) = refused(run, operation, sent, cases).await else { return };
            let is_refused = exchange.code().is_some_and(|code| code.starts_with("VALIDATION_"));
            if is_named && !is_refused {
                // The operation may have used the other spelling first.
                return cases.skip(Skip::Unsafe(operation.name.clone()));
            }
            if exchange.succeeded() && ignores_unknown(run, operation, &bare).await {
                return block(cases);
            }
            cases.expect(is_refused, || Finding::of(&exchange, subject(operation, parameter)));
        });
    do_all(jobs).await;
}

/// Returns the camelCase spelling of a name, for example `bedId` for `bed_id`.
///
/// Returns `None` if it equals the name or is a parameter itself.
fn camel(operation: &Operation, name: &str) -> Option<String> {
    let mut words = name.split('_').filter(|word| !word.is_empty());
    let mut camel = words.next()?.to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    (camel != name && operation.parameter(&camel).is_none()).then_some(camel)
}
