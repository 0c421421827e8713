//! Checks of the form of results with summaries, and of the errors for unsupported summaries.

use serde_json::{Map, Value, json};

use super::{LABEL, about, aggregate, lacks_summary, listed, summary, support};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{having, is_refused, refused_with, valid};
use crate::pages;
use crate::run::{Run, do_all};

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

/// Requests a count together with another parameter and passes the reply to `look`.
async fn beside(
    run: &Run,
    cases: &Cases,
    parameter: &str,
    more: Value,
    look: impl Fn(&Operation, &Exchange),
) {
    let (more, look) = (&more, &look);
    let operations = having(run, "aggregate", cases).into_iter();
    let operations = cases.some_or_not_applicable(
        operations.filter(|operation| operation.parameter(parameter).is_some()),
        format!("no operation documents `aggregate` and `{parameter}`"),
    );
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(mut params) = valid(run, operation, cases) else { return };
        params.insert("aggregate".to_owned(), aggregate(json!({ "count": true })));
        params.extend(more.as_object().cloned().unwrap_or_else(Map::new));
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        if exchange.data().is_none() {
            return cases.skip_without(format!(
                "`{}` does not return a summary: {}",
                operation.name,
                exchange.summary()
            ));
        }
        if lacks_summary(&exchange) {
            return block(cases);
        }
        look(operation, &exchange);
    });
    do_all(jobs).await;
}

/// Blocks a case of an operation that ignores `aggregate` or expects another form.
fn block(cases: &Cases) {
    cases.block("aggregates.count", "a success has no `aggregations`");
}

pub(super) async fn items_omitted(run: &Run, cases: &Cases) {
    beside(run, cases, "aggregate", json!({}), |operation, exchange| {
        // The documented default mode of the operation decides whether a reply has items.
        if support(operation).get("default_mode").is_some_and(|mode| mode == "include_items") {
            return;
        }
        let has_items =
            |data: &Value| ["items", "edges"].iter().any(|name| data.get(name).is_some());
        cases.expect(!exchange.data().is_some_and(has_items), || {
            Finding::of(exchange, about(operation, "aggregate"))
        });
    })
    .await;
}

pub(super) async fn include_items(run: &Run, cases: &Cases) {
    beside(run, cases, "include_items", json!({ "include_items": true }), |operation, exchange| {
        let has_items = exchange.data().and_then(pages::items).is_some();
        cases.expect(has_items && summary(exchange).is_some(), || {
            Finding::of(exchange, about(operation, "include_items"))
        });
    })
    .await;
}

pub(super) async fn labels_kept(run: &Run, cases: &Cases) {
    beside(run, cases, "fields", json!({ "fields": "minimal" }), |operation, exchange| {
        cases.expect(summary(exchange).is_some_and(Value::is_u64), || {
            Finding::of(exchange, about(operation, "aggregate with fields"))
                .expected(format!("`data.aggregations.{LABEL}`"))
        });
    })
    .await;
}

pub(super) async fn unsupported(run: &Run, cases: &Cases) {
    let jobs = having(run, "aggregate", cases).into_iter().flat_map(|operation| {
        [
            json!({ "conformance_probe": true }),
            json!({ "sum": "conformance_probe" }),
            json!({ "group_by": "conformance_probe", "count": true }),
        ]
        .map(|expression| async move {
            let more = [("aggregate", aggregate(expression.clone()))];
            let finding = (
                about(operation, &expression.to_string()),
                "a VALIDATION failure that names `conformance_probe`",
                "accept only the functions and fields of `aggregation_support`",
            );
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            if lacks_summary(&exchange) {
                return block(cases);
            }
            let (subject, expected, fix) = finding;
            cases.expect(is_refused(&exchange), || {
                Finding::of(&exchange, subject).expected(expected).fix(fix)
            });
        })
    });
    do_all(jobs).await;
}
