//! Checks of `aggregate`, compared with sums over all items.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::calls::{having, is_refused, params_with, refused_with};
use super::{Body, Check, later, should_of_level_2 as check};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::pages;
use crate::run::{Run, do_all};

/// The label of the requested summary.
const LABEL: &str = "conformance";
const NUMBERS: [&str; 4] = ["sum", "avg", "min", "max"];

pub(super) const CHECKS: &[Check] = &[
    check(
        "aggregates.stated",
        "`aggregation_support` lists the functions and fields of operations with `aggregate`",
        &["REQ-AGG-09"],
        Body::Learned(stated),
    ),
    check(
        "aggregates.count",
        "`count` is the number of items",
        &["REQ-AGG-01", "REQ-AGG-02", "REQ-AGG-04"],
        Body::Reads(later!(count)),
    ),
    check(
        "aggregates.group_by",
        "`group_by` returns the number of items per group",
        &["REQ-AGG-03", "REQ-AGG-04"],
        Body::Reads(later!(group_by)),
    ),
    check(
        "aggregates.numbers",
        "`sum`, `avg`, `min` and `max` cover all items",
        &["REQ-AGG-02", "REQ-AGG-04"],
        Body::Reads(later!(numbers)),
    ),
    check(
        "aggregates.filtered",
        "Summaries cover the items that the filter selects",
        &["REQ-AGG-06"],
        Body::Reads(later!(filtered)),
    ),
    check(
        "aggregates.items_omitted",
        "A summary omits the items unless `include_items` is true",
        &["REQ-AGG-05"],
        Body::Reads(later!(items_omitted)),
    ),
    check(
        "aggregates.include_items",
        "`include_items` adds the items to the summary",
        &["REQ-AGG-05"],
        Body::Reads(later!(include_items)),
    ),
    check(
        "aggregates.labels_kept",
        "`fields` does not rename or drop labels",
        &["REQ-AGG-07"],
        Body::Reads(later!(labels_kept)),
    ),
    check(
        "aggregates.unsupported",
        "Unsupported functions and fields are rejected",
        &["REQ-AGG-08"],
        Body::Reads(later!(unsupported)),
    ),
];

fn support(operation: &Operation) -> &Value {
    operation.details().get("aggregation_support").unwrap_or(&Value::Null)
}

/// The functions or fields that `aggregation_support` lists.
fn listed<'a>(operation: &'a Operation, name: &str) -> Vec<&'a str> {
    let list = support(operation).get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether the operation supports a function. An operation that lists none is assumed to support all.
fn offers(operation: &Operation, function: &str) -> bool {
    let functions = listed(operation, "functions");
    functions.is_empty() || functions.contains(&function)
}

fn aggregate(expression: Value) -> Value {
    json!({ LABEL: expression })
}

/// The summary under the runner's label.
fn summary(exchange: &Exchange) -> Option<&Value> {
    exchange.data()?.get("aggregations")?.get(LABEL)
}

/// Requests one summary.
async fn ask(
    run: &Run,
    operation: &Operation,
    expression: Value,
    cases: &Cases,
) -> Option<Exchange> {
    let params = params_with(run, operation, [("aggregate", aggregate(expression))], cases)?;
    run.call(operation, params, cases).await
}

/// Reads all items, for the runner's own sums.
async fn all<'r>(run: &'r Run, operation: &Operation, cases: &Cases) -> Option<pages::Items<'r>> {
    let params = params_with(run, operation, [], cases)?;
    let items = pages::all(run, operation, params, cases).await?;
    if items.is_empty() {
        cases.skip(Skip::NoFixture(format!("`{}` returns no items", operation.name)));
        return None;
    }
    Some(items)
}

fn about(operation: &Operation, what: &str) -> String {
    format!("{}: {what}", operation.name)
}

fn stated(run: &Run, cases: &Cases) {
    for operation in having(run, "aggregate", cases) {
        let support = support(operation);
        let holds = support.get("supported") == Some(&Value::Bool(true))
            && !listed(operation, "functions").is_empty()
            && ["groupable_fields", "numeric_fields"]
                .iter()
                .all(|name| support.get(name).is_some_and(Value::is_array));
        cases.expect(holds, || {
            Finding::shown(
                &operation.name,
                support.clone(),
                "`aggregation_support` with `supported: true`, `functions`, `groupable_fields` and \
                 `numeric_fields`",
                "list the functions and fields in the details: clients cannot guess them",
            )
        });
    }
}

async fn count(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().map(|operation| async move {
        if !offers(operation, "count") {
            return;
        }
        let Some(items) = all(run, operation, cases).await else { return };
        let asked = ask(run, operation, json!({ "count": true }), cases).await;
        let Some(exchange) = asked else { return };
        let is_right = summary(&exchange).and_then(Value::as_u64) == Some(items.len() as u64);
        cases.expect(is_right, || {
            Finding::of(
                &exchange,
                about(operation, "count"),
                format!(
                    "{} in `data.aggregations.{LABEL}`: the number of items on all pages",
                    items.len()
                ),
                "count all items of the request, not those of one page",
            )
        });
    });
    do_all(jobs).await;
}

/// The name of the group for a value.
fn group_name(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

async fn group_by(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().map(|operation| async move {
        let fields = listed(operation, "groupable_fields");
        if fields.is_empty() {
            return cases.skip(Skip::NoFixture(format!(
                "`{}` does not list `groupable_fields`",
                operation.name
            )));
        }
        let Some(items) = all(run, operation, cases).await else { return };
        for field in fields {
            // Items without the field may form a group of their own or be left out.
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
                Finding::of(
                    &exchange,
                    about(operation, &format!("group_by {field}")),
                    format!("{}: the number of items per value", json!(counted)),
                    "group all items of the request, and name groups after their values",
                )
            });
        }
    });
    do_all(jobs).await;
}

/// The count of a group: a plain number, or a number under the name of the function.
fn count_in(reported: &Value) -> Option<u64> {
    reported.as_u64().or_else(|| reported.get("count")?.as_u64())
}

async fn numbers(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().map(|operation| async move {
        let fields = listed(operation, "numeric_fields");
        if fields.is_empty() {
            return cases.skip(Skip::NoFixture(format!(
                "`{}` does not list `numeric_fields`",
                operation.name
            )));
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
                Finding::shown(
                    about(operation, field),
                    other.cloned().unwrap_or_default(),
                    format!("numbers in `{field}`, because `numeric_fields` lists it"),
                    "list in `numeric_fields` the fields that hold numbers",
                )
            });
            if values.is_empty() {
                continue;
            }
            for function in NUMBERS.into_iter().filter(|function| offers(operation, function)) {
                let expected = expected(function, &values);
                let asked = ask(run, operation, json!({ function: field }), cases).await;
                let Some(exchange) = asked else { return };
                let reported = summary(&exchange).and_then(|reported| {
                    // Numbers beyond the range of JSON are sent as text.
                    reported.as_f64().or_else(|| reported.as_str()?.parse().ok())
                });
                // Averages may be rounded.
                let is_right = reported.is_some_and(|reported| {
                    (reported - expected).abs() <= 0.01 * expected.abs().max(1.0)
                });
                cases.expect(is_right, || {
                    Finding::of(
                        &exchange,
                        about(operation, &format!("{function} of {field}")),
                        format!("{expected} in `data.aggregations.{LABEL}`"),
                        "summarize all items of the request, not those of one page",
                    )
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

async fn filtered(run: &Run, cases: &Cases) {
    let mut operations = having(run, "aggregate", cases);
    operations.retain(|operation| operation.parameter("filter").is_some());
    if operations.is_empty() {
        cases.not_applicable("no operation documents both `aggregate` and `filter`");
    }
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
            let Some(params) = params_with(run, operation, more, cases) else { return };
            let Some(exchange) = run.call(operation, params, cases).await else { return };
            // Some groupable fields are not keys of the filter.
            if is_refused(&exchange) {
                continue;
            }
            tested = true;
            let is_right = summary(&exchange).and_then(Value::as_u64) == Some(count as u64);
            cases.expect(is_right, || {
                Finding::of(
                    &exchange,
                    about(operation, &format!("count with filter.{field}")),
                    format!("{count}: the number of items with {value}"),
                    "apply the filter before the summary",
                )
            });
        }
        if !tested {
            cases.skip(Skip::NoFixture(format!("no filterable field of `{}`", operation.name)));
        }
    });
    do_all(jobs).await;
}

/// Requests a count together with another parameter, and passes the reply to `look`.
async fn beside(
    run: &Run,
    cases: &Cases,
    parameter: &str,
    more: Value,
    look: impl Fn(&Operation, &Exchange),
) {
    let (more, look) = (&more, &look);
    let mut operations = having(run, "aggregate", cases);
    operations.retain(|operation| operation.parameter(parameter).is_some());
    if operations.is_empty() {
        cases.not_applicable(format!("no operation documents `aggregate` and `{parameter}`"));
    }
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(mut params) = params_with(run, operation, [], cases) else { return };
        params.insert("aggregate".to_owned(), aggregate(json!({ "count": true })));
        params.extend(more.as_object().cloned().unwrap_or_else(Map::new));
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        if exchange.data().is_none() {
            return cases.skip(Skip::NoFixture(format!(
                "`{}` does not return a summary: {}",
                operation.name,
                exchange.summary()
            )));
        }
        look(operation, &exchange);
    });
    do_all(jobs).await;
}

async fn items_omitted(run: &Run, cases: &Cases) {
    beside(run, cases, "aggregate", json!({}), |operation, exchange| {
        // The documented default mode of an operation decides.
        if support(operation).get("default_mode").is_some_and(|mode| mode == "include_items") {
            return;
        }
        let has_items =
            |data: &Value| ["items", "edges"].iter().any(|name| data.get(name).is_some());
        cases.expect(!exchange.data().is_some_and(has_items), || {
            Finding::of(
                exchange,
                about(operation, "aggregate"),
                "`aggregations` without `items`, not even an empty list",
                "omit the items unless `include_items` is true",
            )
        });
    })
    .await;
}

async fn include_items(run: &Run, cases: &Cases) {
    beside(run, cases, "include_items", json!({ "include_items": true }), |operation, exchange| {
        let has_items = exchange.data().and_then(pages::items).is_some();
        cases.expect(has_items && summary(exchange).is_some(), || {
            Finding::of(
                exchange,
                about(operation, "include_items"),
                "`items` beside `aggregations`",
                "return both if `include_items` is true",
            )
        });
    })
    .await;
}

async fn labels_kept(run: &Run, cases: &Cases) {
    beside(run, cases, "fields", json!({ "fields": "minimal" }), |operation, exchange| {
        cases.expect(summary(exchange).is_some_and(Value::is_u64), || {
            Finding::of(
                exchange,
                about(operation, "aggregate with fields"),
                format!("`data.aggregations.{LABEL}`"),
                "apply `fields` to items only, not to labels",
            )
        });
    })
    .await;
}

async fn unsupported(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().flat_map(|operation| {
        [
            json!({ "conformance_probe": true }),
            json!({ "sum": "conformance_probe" }),
            json!({ "group_by": "conformance_probe", "count": true }),
        ]
        .map(|expression| async move {
            let more = [("aggregate", aggregate(expression.clone()))];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(
                    &exchange,
                    about(operation, &expression.to_string()),
                    "a VALIDATION failure that names `conformance_probe`",
                    "accept only the functions and fields of `aggregation_support`",
                )
            });
        })
    });
    do_all(jobs).await;
}
