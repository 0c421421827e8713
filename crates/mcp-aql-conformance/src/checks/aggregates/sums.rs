//! Checks of counts, groups and sums, compared with those computed from all items.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{LABEL, about, aggregate, ask, listed, offers, summary};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{all_items, call_with, having, is_refused};
use crate::pages;
use crate::run::{Run, do_all};

const NUMBERS: [&str; 4] = ["sum", "avg", "min", "max"];

/// Reads all items. The check computes the expected summaries from them.
async fn all<'r>(run: &'r Run, operation: &Operation, cases: &Cases) -> Option<pages::Items<'r>> {
    let (_, items) = all_items(run, operation, cases).await?;
    if items.is_empty() {
        cases.skip_without(format!("`{}` returns no items", operation.name));
        return None;
    }
    Some(items)
}

pub(super) async fn count(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().map(|operation| async move {
        if !offers(operation, "count") {
            return;
        }
        let Some(items) = all(run, operation, cases).await else { return };
        let asked = ask(run, operation, json!({ "count": true }), cases).await;
        let Some(exchange) = asked else { return };
        if super::lacks_summary(&exchange) {
            return cases.fail(
                Finding::of(&exchange, about(operation, "count"))
                    .expected(format!("`data.aggregations` with the summary `{LABEL}`")),
            );
        }
        let is_right = summary(&exchange).and_then(Value::as_u64) == Some(items.len() as u64);
        cases.expect(is_right, || {
            Finding::of(&exchange, about(operation, "count"))
                .expected(format!(
                    "{} in `data.aggregations.{LABEL}`: the number of items on all pages",
                    items.len()
                ))
                .fix("count all items of the request, not those of one page")
        });
    });
    do_all(jobs).await;
}

/// Returns the name of the group for a value.
fn group_name(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) async fn group_by(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().map(|operation| async move {
        let fields = listed(operation, "groupable_fields");
        if fields.is_empty() {
            return cases
                .skip_without(format!("`{}` does not list `groupable_fields`", operation.name));
        }
        let Some(items) = all(run, operation, cases).await else { return };
        for field in fields {
            // Adapters may put items without the field into a group of their own or leave them out.
            if items.iter().any(|item| {
                pages::at(item, field).is_none_or(|value| value.is_null() || value.is_array())
            }) {
                continue;
            }
            let mut counted: BTreeMap<String, u64> = BTreeMap::new();
            for value in items.iter().filter_map(|item| pages::at(item, field)) {
                *counted.entry(group_name(value)).or_default() += 1;
            }
            let expression = json!({ "group_by": field, "count": true });
            let Some(exchange) = ask(run, operation, expression, cases).await else { return };
            let found = summary(&exchange).and_then(Value::as_object);
            let is_right = found.is_some_and(|found| {
                counted.iter().all(|(name, count)| {
                    found.get(name).is_some_and(|reported| count_in(reported) == Some(*count))
                }) && found.iter().all(|(name, reported)| {
                    counted.contains_key(name) || count_in(reported) == Some(0)
                })
            });
            cases.expect(is_right, || {
                Finding::of(&exchange, about(operation, &format!("group_by {field}")))
                    .expected(format!("{}: the number of items per value", json!(counted)))
            });
        }
    });
    do_all(jobs).await;
}

/// Reads the count of a group: a plain number, or a number under the name of the function.
///
/// ```json
/// { "open": 3, "done": { "count": 2 } }
/// ```
fn count_in(reported: &Value) -> Option<u64> {
    reported.as_u64().or_else(|| reported.get("count")?.as_u64())
}

pub(super) async fn numbers(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().map(|operation| async move {
        let fields = listed(operation, "numeric_fields");
        if fields.is_empty() {
            return cases
                .skip_without(format!("`{}` does not list `numeric_fields`", operation.name));
        }
        let Some(items) = all(run, operation, cases).await else { return };
        for field in fields {
            let values: Vec<f64> =
                items.iter().filter_map(|item| pages::at(item, field)?.as_f64()).collect();
            let is_number = |value: &Value| {
                value.is_null()
                    || value.is_number()
                    || value.as_str().is_some_and(|text| text.parse::<f64>().is_ok())
            };
            let other =
                items.iter().filter_map(|item| pages::at(item, field)).find(|it| !is_number(it));
            cases.expect(other.is_none(), || {
                Finding::shown(about(operation, field), other.cloned().unwrap_or_default())
                    .expected(format!("numbers in `{field}`, because `numeric_fields` lists it"))
            });
            if values.is_empty() {
                continue;
            }
            for function in NUMBERS.into_iter().filter(|function| offers(operation, function)) {
                let expected = expected(function, &values);
                let asked = ask(run, operation, json!({ function: field }), cases).await;
                let Some(exchange) = asked else { return };
                let reported = summary(&exchange).and_then(|reported| {
                    // Numbers beyond the range of JSON are sent as strings.
                    reported.as_f64().or_else(|| reported.as_str()?.parse().ok())
                });
                // Averages may be rounded.
                let is_right = reported.is_some_and(|reported| {
                    (reported - expected).abs() <= 0.01 * expected.abs().max(1.0)
                });
                cases.expect(is_right, || {
                    Finding::of(&exchange, about(operation, &format!("{function} of {field}")))
                        .expected(format!("{expected} in `data.aggregations.{LABEL}`"))
                        .fix("summarize all items of the request, not those of one page")
                });
            }
        }
    });
    do_all(jobs).await;
}

#[expect(clippy::cast_precision_loss, reason = "no collection has 2^53 items")]
fn expected(function: &str, values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    match function {
        "sum" => sum,
        "avg" => sum / values.len() as f64,
        "min" => values.iter().copied().fold(f64::INFINITY, f64::min),
        _ => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

pub(super) async fn filtered(run: &Run, cases: &Cases) {
    let operations = having(run, "aggregate", cases).into_iter();
    let operations = cases.some_or_not_applicable(
        operations.filter(|operation| operation.parameter("filter").is_some()),
        "no operation documents both `aggregate` and `filter`",
    );
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(items) = all(run, operation, cases).await else { return };
        let mut tested = false;
        for field in listed(operation, "groupable_fields") {
            let Some(value) = items.iter().find_map(|item| pages::at(item, field)) else {
                continue;
            };
            let count = items.iter().filter(|item| pages::at(item, field) == Some(value)).count();
            let more = [
                ("filter", json!({ field: value })),
                ("aggregate", aggregate(json!({ "count": true }))),
            ];
            let Some(exchange) = call_with(run, operation, more, cases).await else { return };
            // Adapters may allow fewer fields in filters than in groups.
            if is_refused(&exchange) {
                continue;
            }
            tested = true;
            let is_right = summary(&exchange).and_then(Value::as_u64) == Some(count as u64);
            cases.expect(is_right, || {
                Finding::of(&exchange, about(operation, &format!("count with filter.{field}")))
                    .expected(format!("{count}: the number of items with {value}"))
            });
        }
        if !tested {
            cases.skip_without(format!("no filterable field of `{}`", operation.name));
        }
    });
    do_all(jobs).await;
}
