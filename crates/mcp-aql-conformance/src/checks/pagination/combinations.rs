//! Checks of parameters that contradict each other.

use serde_json::{Map, Value, json};

use super::paged;
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{is_refused, refused_with};
use crate::run::{Run, do_all};

/// Returns the contradictory combinations that the parameters of an operation allow.
fn contradictions(operation: &Operation) -> Vec<Map<String, Value>> {
    [
        json!({ "first": 1, "last": 1 }),
        json!({ "after": "conformance" }),
        json!({ "before": "conformance" }),
        json!({ "first": 1, "before": "conformance" }),
        json!({ "last": 1, "after": "conformance" }),
    ]
    .into_iter()
    .filter_map(|params| params.as_object().cloned())
    .filter(|params| {
        params.keys().all(|name| operation.parameter(name).is_some())
            // A documented default page size replaces the missing parameter.
            && !(params.len() == 1
                && ["first", "last"].iter().any(|name| {
                    operation.parameter(name).is_some_and(|size| size.member("default").is_some())
                }))
    })
    .collect()
}

async fn each_contradiction(
    run: &Run,
    cases: &Cases,
    look: impl Fn(&Operation, &Map<String, Value>, &Exchange),
) {
    let look = &look;
    let operations = paged(run, cases);
    if !operations.is_empty()
        && operations.iter().all(|operation| contradictions(operation).is_empty())
    {
        cases.not_applicable("no operation documents parameters that can contradict each other");
    }
    let jobs = operations.into_iter().flat_map(|operation| {
        contradictions(operation).into_iter().map(move |given| async move {
            if let Some(exchange) = refused_with(run, operation, given.clone(), cases).await {
                look(operation, &given, &exchange);
            }
        })
    });
    do_all(jobs).await;
}

pub(super) fn names(given: &Map<String, Value>) -> String {
    given.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" with ")
}

pub(super) async fn combinations(run: &Run, cases: &Cases) {
    each_contradiction(run, cases, |operation, given, exchange| {
        cases.expect(is_refused(exchange), || {
            Finding::of(exchange, format!("{}: {}", operation.name, names(given)))
        });
    })
    .await;
}

/// Expects details such as these for `{ "first": 1, "last": 1 }`:
///
/// ```json
/// { "param_name": "pagination", "expected_type": "'first' or 'last'", "actual_type": "first+last",
///   "provided": ["first", "last"], "hint": "ask for the first rows or for the last, not both" }
/// ```
pub(super) async fn combination_details(run: &Run, cases: &Cases) {
    each_contradiction(run, cases, |operation, given, exchange| {
        let Some(failure) = exchange.failure() else { return };
        let is_text = |name: &str| failure.details.get(name).is_some_and(Value::is_string);
        let holds = failure.code == "VALIDATION_INVALID_TYPE"
            && failure.details.get("param_name").is_some_and(|name| name == "pagination")
            && ["expected_type", "actual_type", "hint"].into_iter().all(is_text)
            && failure.details.get("provided").is_some();
        cases.expect(holds, || {
            Finding::of(exchange, format!("{}: {}", operation.name, names(given)))
        });
    })
    .await;
}
