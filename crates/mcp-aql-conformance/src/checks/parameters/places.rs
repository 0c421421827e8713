//! Checks of where parameters are accepted: in `params`, and next to `operation`.

use serde_json::{Map, Value, json};

use super::{all, concerns_parameters, is_unread_failure, refused, refuses, subject, unfit};
use crate::adapter::{Operation, Parameter};
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid;
use crate::checks::planned::{CallReply, PlannedCall};
use crate::run::{Run, arguments, do_all};
use crate::shape::{Fault, Shape};
use crate::values;

/// Suggestion with both passages of the protocol, because adapters that reject names next to `operation` cite the
/// second one.
pub(super) const RESOLUTION_FIX: &str = "look for a parameter in `params`, then next to `operation`, and \
                              prefer the value in `params` if there are two. Section 4.2 says \
                              \"Parameters MAY appear at multiple levels. Resolution follows this \
                              precedence\": this is a permission for clients. Section 4.6.1 checks \
                              unknown names next to `operation` \"when parameter resolution is \
                              enabled\", but the protocol has no setting that disables it";

pub(super) async fn nested(run: &Run, cases: &Cases) {
    if run.adapter.reads().next().is_none() {
        nested_in_introspect(run, cases).await;
    }
    let jobs = run.adapter.reads().map(|operation| async move {
        let Some(params) = valid(run, operation, cases) else { return };
        let Some(exchange) = run.call(operation, params.clone(), cases).await else { return };
        if exchange.code() == Some("VALIDATION_INVALID_VALUE")
            && has_made_up(run, operation, &params)
        {
            return cases.skip(unfit(operation));
        }
        if !cases.is_readable(&exchange) {
            return;
        }
        let is_refused = exchange.code().is_some_and(|code| code.starts_with("VALIDATION_"));
        cases.expect(!is_refused, || {
            Finding::of(&exchange, &operation.name)
                .expected("no VALIDATION failure, because `params` has all required parameters")
        });
    });
    do_all(jobs).await;
}

/// Tests `introspect` if there is no other READ operation.
async fn nested_in_introspect(run: &Run, cases: &Cases) {
    let query = json!({ "query": "operations" });
    let Some(exchange) = run.introspect(query, cases).await else { return };
    cases.expect_success(&exchange, true, || {
        Finding::of(&exchange, "introspect").expected("a success, because `query` is in `params`")
    });
}

/// Returns `true` if one of these values was generated.
fn has_made_up(run: &Run, operation: &Operation, params: &Map<String, Value>) -> bool {
    operation.parameters.iter().any(|parameter| {
        params
            .get(&parameter.name)
            .is_some_and(|value| values::is_generated(run, operation, parameter, value))
    })
}

/// Returns a parameter with a value of a wrong type. A rejection shows that the adapter read the value.
fn marked<'a>(run: &'a Run, operation: &'a Operation) -> Option<(&'a Parameter, Value)> {
    operation.parameters.iter().find_map(|parameter| {
        let wrong = values::wrong(run, operation, parameter);
        let wrong = wrong.into_iter().find(|wrong| wrong.fault == Fault::Type)?;
        Some((parameter, wrong.value))
    })
}

/// Returns arguments with the parameters next to `operation`.
///
/// ```json
/// { "operation": "list_beds", "size": 2 }
/// ```
fn flat(operation: &str, params: Map<String, Value>) -> Map<String, Value> {
    let mut arguments = params;
    arguments.insert("operation".to_owned(), json!(operation));
    arguments
}

const TYPES: [&str; 2] = ["VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_VALUE"];

/// Returns `true` if the operation rejects the wrong value in `params`.
///
/// Otherwise replies do not show which value was used, and the case is blocked.
async fn rejects_nested(
    run: &Run,
    operation: &Operation,
    params: Map<String, Value>,
    parameter: &Parameter,
    cases: &Cases,
) -> bool {
    let sent = arguments(&operation.name, params);
    let Some(control) = refused(run, operation, sent, cases).await else { return false };
    let is_rejected = refuses(&control, &TYPES, &parameter.name);
    if !is_rejected {
        cases.block("parameters.wrong_type", "a value of a wrong type was not rejected");
    }
    is_rejected
}

pub(super) async fn top_level(run: &Run, cases: &Cases) {
    let jobs = all(run, cases).into_iter().map(|(operation, params)| async move {
        let Some((parameter, value)) = marked(run, operation) else { return };
        let mut params = params;
        params.insert(parameter.name.clone(), value);
        let sent = Value::Object(flat(&operation.name, params.clone()));
        let Some(exchange) = refused(run, operation, sent, cases).await else { return };
        let is_refused = refuses(&exchange, &TYPES, &parameter.name);
        if !is_refused && !rejects_nested(run, operation, params, parameter, cases).await {
            return;
        }
        cases.expect(is_refused, || {
            Finding::of(&exchange, subject(operation, parameter)).expected(format!(
                "VALIDATION_INVALID_TYPE for the `{}` next to `operation`",
                parameter.name
            ))
        });
    });
    do_all(jobs).await;
}

pub(super) async fn nested_wins(run: &Run, cases: &Cases) {
    let jobs = all(run, cases).into_iter().map(|(operation, params)| async move {
        let Some((parameter, wrong)) = marked(run, operation) else { return };
        let right = match params.get(&parameter.name) {
            Some(right) => right.clone(),
            None => match Shape::of(&run.adapter, parameter).made(0) {
                Some(made) => made,
                None => return,
            },
        };
        let mut inside = params.clone();
        inside.insert(parameter.name.clone(), wrong.clone());
        let mut sent =
            flat(&operation.name, Map::from_iter([(parameter.name.clone(), right.clone())]));
        sent.insert("params".to_owned(), inside.clone().into());
        if let Some(exchange) = refused(run, operation, sent.into(), cases).await {
            let is_refused = refuses(&exchange, &TYPES, &parameter.name);
            if !is_refused && !rejects_nested(run, operation, inside, parameter, cases).await {
                return;
            }
            cases.expect(is_refused, || {
                Finding::of(&exchange, subject(operation, parameter)).expected(format!(
                    "VALIDATION_INVALID_TYPE for the `{}` in `params`",
                    parameter.name
                ))
            });
        }
        if !operation.is_read() {
            return;
        }
        let mut inside = params;
        inside.insert(parameter.name.clone(), right);
        let mut sent = flat(&operation.name, Map::from_iter([(parameter.name.clone(), wrong)]));
        sent.insert("params".to_owned(), inside.into());
        let Some(exchange) = run.call_as(operation, sent.into(), cases).await else { return };
        if !cases.is_readable(&exchange) {
            return;
        }
        cases.expect(exchange.code() != Some("VALIDATION_INVALID_TYPE"), || {
            Finding::of(&exchange, subject(operation, parameter))
                .expected(format!("the `{}` next to `operation` to be ignored", parameter.name))
        });
    });
    do_all(jobs).await;
}

/// Plans calls whose `params` is not an object.
pub(super) fn params_not_object<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = all(run, cases).into_iter().flat_map(|(operation, _)| {
        [json!("conformance"), json!(7), json!([]), json!(true)].map(|params| {
            let sent = json!({ "operation": operation.name, "params": params });
            PlannedCall::invalid(operation, Map::new()).sending(sent)
        })
    });
    calls.collect()
}

pub(super) fn is_rejected(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    Some(it.code() == "VALIDATION_INVALID_TYPE" || is_unread_failure(it.reply))
}
