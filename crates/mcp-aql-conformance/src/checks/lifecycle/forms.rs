//! Checks of the form of execution states in all replies.

use serde_json::Value;

use super::execution::{CORE, is_on_one, lifecycle};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::forms::{ERROR, Form, INSTANT, may, must};
use crate::run::Run;

const STATE: Form = Form::Open(&[
    must("execution_id", Form::Word),
    must("status", Form::Word),
    may("started_at", Form::Either(&[INSTANT, Form::Null])),
    may("finished_at", Form::Either(&[INSTANT, Form::Null])),
]);

/// Returns the execution state in the reply of an operation that starts executions or acts on them.
fn state<'v>(run: &Run, exchange: &'v Exchange, cases: &Cases) -> Option<&'v Value> {
    let has_any = |operation: &Operation| lifecycle(operation).is_some();
    if !run.adapter.operations.iter().any(has_any) {
        cases.not_applicable("no operation documents a lifecycle");
        return None;
    }
    let operation = run.adapter.operation(exchange.operation())?;
    let data = exchange.data().filter(|_| has_any(operation) || is_on_one(operation))?;
    // A batch has no data of its own, and the log of an execution is not a state.
    (data.is_object() && (has_any(operation) || data.get("status").is_some())).then_some(data)
}

pub(super) fn core_states(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        let Some(lifecycle) = lifecycle(operation) else { continue };
        let documented = lifecycle.get("states").and_then(Value::as_array);
        let documented: Vec<_> =
            documented.into_iter().flatten().filter_map(Value::as_str).collect();
        cases.expect(CORE.iter().all(|state| documented.contains(state)), || {
            Finding::shown(&operation.name, serde_json::json!(documented))
        });
    }
    if !run.adapter.operations.iter().any(|operation| lifecycle(operation).is_some()) {
        cases.not_applicable("no operation documents a lifecycle");
    }
}

pub(super) fn stated(run: &Run, exchange: &Exchange, cases: &Cases) {
    let begins = |operation: &Operation| {
        operation.category == Some(Category::Execute)
            && operation.parameter("execution_id").is_none()
            && !matches!(operation.name.as_str(), "execute_agent" | "confirm_operation")
    };
    if !run.adapter.operations.iter().any(begins) {
        return cases.not_applicable("no EXECUTE operation starts executions");
    }
    let operation =
        run.adapter.operation(exchange.operation()).filter(|operation| begins(operation));
    let Some((operation, data)) = operation.zip(exchange.data()) else { return };
    if data.get("execution_id").is_none() || data.get("status").is_none() {
        return;
    }
    cases.expect(lifecycle(operation).is_some(), || Finding::of(exchange, &operation.name));
}

pub(super) fn state_form(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(state) = state(run, exchange, cases) else { return };
    STATE.check(state, cases, || Finding::of(exchange, exchange.operation()));
}

pub(super) fn progress_form(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(progress) = state(run, exchange, cases).and_then(|state| state.get("progress")) else {
        return;
    };
    if progress.is_null() {
        return;
    }
    let number = |name: &str| progress.get(name).and_then(Value::as_f64);
    let percentage = number("percentage").is_some_and(|percent| (0.0..=100.0).contains(&percent));
    let counted =
        number("current").zip(number("total")).is_some_and(|(at, of)| at >= 0.0 && at <= of);
    let reported = progress.get("message").is_some_and(Value::is_string);
    // All present members must be valid.
    let is_right = (progress.get("percentage").is_none() || percentage)
        && (progress.get("total").is_none() || counted)
        && (progress.get("message").is_none() || reported);
    cases.expect(is_right && (percentage || counted || reported), || {
        Finding::of(exchange, exchange.operation())
    });
}

pub(super) fn error_form(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(state) = state(run, exchange, cases) else { return };
    if state.get("status").is_none_or(|status| status != "failed") {
        return;
    }
    let error = state.get("error").cloned().unwrap_or_default();
    ERROR.check(&error, cases, || Finding::of(exchange, exchange.operation()));
}
