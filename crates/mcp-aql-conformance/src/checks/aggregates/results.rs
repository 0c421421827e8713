//! Checks of the form of results with summaries, and of the errors for unsupported summaries.

use serde_json::{Value, json};

use super::{aggregate, lacks_summary, listed, summary, support};
use crate::cases::{Cases, Finding};
use crate::checks::calls::having;
use crate::checks::planned::{CallReply, PlannedCall, invalid_calls, rejected, valid_calls};
use crate::pages;
use crate::run::Run;

pub(super) fn stated(run: &Run, cases: &Cases) {
    for operation in having(run, "aggregate", cases) {
        let support = support(operation);
        let holds = support.get("supported") == Some(&Value::Bool(true))
            && !listed(operation, "functions").is_empty()
            && ["groupable_fields", "numeric_fields"]
                .iter()
                .all(|name| support.get(name).is_some_and(Value::is_array));
        cases.expect(holds, || Finding::shown(&operation.name, support.clone()));
    }
}

/// Plans calls for a count together with another parameter. `about` is part of the subject of findings.
fn counts<'r>(
    run: &'r Run,
    cases: &Cases,
    (parameter, about): (&str, &str),
    more: Value,
) -> Vec<PlannedCall<'r>> {
    let operations = having(run, "aggregate", cases).into_iter();
    let operations = cases.some_or_not_applicable(
        operations.filter(|operation| operation.parameter(parameter).is_some()),
        format!("no operation documents `aggregate` and `{parameter}`"),
    );
    let mut change = json!({ "aggregate": aggregate(json!({ "count": true })) });
    if let (Value::Object(change), Value::Object(more)) = (&mut change, more) {
        change.extend(more);
    }
    valid_calls(run, operations, about, &[change], cases)
}

pub(super) fn alone<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    counts(run, cases, ("aggregate", "aggregate"), json!({}))
}

pub(super) fn with_items<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let more = json!({ "include_items": true });
    counts(run, cases, ("include_items", "include_items"), more)
}

pub(super) fn with_fields<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    counts(run, cases, ("fields", "aggregate with fields"), json!({ "fields": "minimal" }))
}

/// Returns the data with a summary. Skips or blocks the case if there is none.
fn summarized<'a>(it: &CallReply<'a>) -> Option<&'a Value> {
    let Some(data) = it.data() else {
        let (name, summary) = (&it.call.operation.name, it.reply.summary());
        it.cases.skip_without(format!("`{name}` does not return a summary: {summary}"));
        return None;
    };
    has_summary(it)?;
    Some(data)
}

/// Returns `None` and blocks the case if the operation ignores `aggregate` or expects another form.
fn has_summary(it: &CallReply<'_>) -> Option<()> {
    if lacks_summary(it.reply) {
        it.cases.block("aggregates.count", "a success has no `aggregations`");
        return None;
    }
    Some(())
}

pub(super) fn omits_items(it: &CallReply<'_>) -> Option<bool> {
    let data = summarized(it)?;
    // The documented default mode of the operation decides whether a reply has items.
    let mode = support(it.call.operation).get("default_mode");
    let is_judged = mode.is_none_or(|mode| mode != "include_items");
    is_judged.then(|| ["items", "edges"].iter().all(|name| data.get(name).is_none()))
}

pub(super) fn has_items(it: &CallReply<'_>) -> Option<bool> {
    let data = summarized(it)?;
    Some(pages::items(data).is_some() && summary(it.reply).is_some())
}

pub(super) fn has_label(it: &CallReply<'_>) -> Option<bool> {
    summarized(it)?;
    Some(summary(it.reply).is_some_and(Value::is_u64))
}

pub(super) fn unsupported<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let expressions = [
        json!({ "conformance_probe": true }),
        json!({ "sum": "conformance_probe" }),
        json!({ "group_by": "conformance_probe", "count": true }),
    ];
    let operations = having(run, "aggregate", cases);
    let calls = expressions.into_iter().flat_map(|expression| {
        let about = expression.to_string();
        let change = json!({ "aggregate": aggregate(expression) });
        invalid_calls(run, operations.clone(), &about, &[change], cases)
    });
    calls.collect()
}

pub(super) fn is_rejected(it: &CallReply<'_>) -> Option<bool> {
    has_summary(it)?;
    rejected(it)
}
