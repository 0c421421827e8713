//! Checks of the states that executions pass through.

use serde_json::{Map, Value, json};

use super::execution::{CORE, Starter, is_final, lifecycle, member, starters, supports};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::pages;
use crate::run::Run;

/// Maximum number of executions started until one is seen in two states. A short one may end before its first reply.
const MAX_EXECUTIONS: usize = 5;

pub(super) async fn states(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let operation = starter.operation;
        let documented = lifecycle(operation).and_then(|lifecycle| lifecycle.get("states"));
        let documented: Vec<_> = documented
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let Some(execution) = starter.begin().await else { continue };
        for seen in execution.follow().await.unwrap_or_default() {
            let Some(status) = member(&seen, "status") else { continue };
            // The states of the protocol need not be documented.
            cases.expect(documented.contains(&status) || CORE.contains(&status), || {
                Finding::of(&seen, &operation.name)
            });
        }
    }
}

pub(super) async fn readable(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let Some(execution) = starter.begin().await else { continue };
        let Some(looked) = execution.look().await else { continue };
        let name = &starter.operation.name;
        let is_it = member(&looked, "execution_id") == Some(execution.id.as_str())
            && member(&looked, "operation").is_none_or(|reported| reported == name);
        cases.expect(is_it, || {
            Finding::of(&looked, looked.operation())
                .expected(format!("the state of the execution `{}` of `{name}`", execution.id))
        });
    }
}

pub(super) async fn listed(run: &Run, cases: &Cases) {
    let starters = starters(run, cases);
    let list = run.adapter.reads().find(|operation| {
        operation.name.ends_with("_executions") && operation.required().next().is_none()
    });
    let Some(list) = list else {
        return cases.not_applicable("no READ operation lists executions");
    };
    for starter in starters {
        let Some(execution) = starter.begin().await else { continue };
        let Some(all) = run.call(list, Map::new(), cases).await else { continue };
        let items = all.data().and_then(pages::items).unwrap_or_default();
        let is_it = |item: &&Value| item.get("execution_id").is_some_and(|id| *id == execution.id);
        cases.expect(items.iter().any(is_it), || {
            Finding::of(&all, &list.name).expected(format!(
                "an item with the `execution_id` \"{}\", which was just started",
                execution.id
            ))
        });
    }
}

/// Returns `true` if an execution may get from one state to another, possibly through others.
fn may_become(from: &str, to: &str, is_retried: bool) -> bool {
    match (from, to) {
        // Custom states may change to any state. Final states may not change.
        (from, to) if from == to => true,
        ("failed", to) if is_retried => to != "pending",
        (from, _) if is_final(from) => false,
        ("running", "pending") => false,
        _ => true,
    }
}

pub(super) async fn transitions(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let mut is_tested = Some(false);
        for _ in 0..MAX_EXECUTIONS {
            is_tested = transitions_of(starter, cases).await;
            if is_tested != Some(false) {
                break;
            }
        }
        if is_tested == Some(false) {
            cases.skip_without(format!(
                "an execution of `{}` that changes its state in time",
                starter.operation.name
            ));
        }
    }
}

/// Checks the states of one execution. Returns `false` if there was only one, and `None` if the case was skipped.
async fn transitions_of(starter: Starter<'_>, cases: &Cases) -> Option<bool> {
    let execution = starter.begin().await?;
    let mut seen = execution.follow().await?;
    // One more query detects executions that leave a final state.
    seen.extend(execution.look().await);
    let states: Vec<_> = seen.iter().filter_map(|seen| member(seen, "status")).collect();
    let is_retried = supports(starter.operation, "supports_retry");
    let fault = states.windows(2).position(|pair| match pair {
        [from, to] => !may_become(from, to, is_retried),
        _ => false,
    });
    if fault.is_none() && states.windows(2).all(|pair| pair.first() == pair.last()) {
        return Some(false);
    }
    let reported = fault.and_then(|at| seen.get(at + 1)).or(seen.last());
    cases.expect(fault.is_none(), || {
        Finding::of(&execution.begun, &starter.operation.name)
            .received(json!(states))
            .sent(reported.map(Exchange::sent).unwrap_or_default())
    });
    Some(true)
}

pub(super) async fn terminal(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let Some(execution) = starter.begin().await else { continue };
        let Some(end) = execution.end().await else { continue };
        let tried = match starter.steering.cancel {
            Some(cancel) => execution.call(cancel).await,
            None => None,
        };
        let Some(after) = execution.look().await else { continue };
        let status = |exchange: &Exchange| member(exchange, "status").map(str::to_owned);
        // Canceling a finished execution may return its final state or fail.
        let is_reported =
            tried.as_ref().is_none_or(|tried| !tried.succeeded() || status(tried) == status(&end));
        cases.expect(status(&after) == status(&end) && is_reported, || {
            Finding::of(tried.as_ref().unwrap_or(&after), &starter.operation.name)
                .expected(format!(
                    "still {}, because the execution was finished",
                    status(&end).unwrap_or_default()
                ))
                .received(json!([tried.as_ref().map(Exchange::received), after.received()]))
        });
    }
}
