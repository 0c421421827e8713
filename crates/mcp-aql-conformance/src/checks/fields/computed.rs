//! Checks of computed fields.

use serde_json::{Map, Value, json};

use super::{choose, full, is_path, things};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{is_refused, refused_with};
use crate::run::{Run, do_all};

/// Returns the computed fields documented in the details of an operation.
fn declared(operation: &Operation) -> impl Iterator<Item = &Value> {
    operation.details().get("computed_fields").and_then(Value::as_array).into_iter().flatten()
}

fn with_computed<'a>(run: &'a Run, cases: &Cases) -> Vec<&'a Operation> {
    cases.some_or_not_applicable(
        run.adapter.reads().filter(|operation| declared(operation).next().is_some()),
        "no operation documents `computed_fields`",
    )
}

/// Returns the values of a computed field in all items.
fn computed_in<'a>(data: &'a Value, name: &str) -> Vec<&'a Value> {
    let within = |thing: &&'a Map<String, Value>| thing.get("_computed")?.get(name);
    things(data).iter().filter_map(within).collect()
}

pub(super) async fn computed(run: &Run, cases: &Cases) {
    let jobs = with_computed(run, cases).into_iter().map(|operation| async move {
        if full(run, operation, cases).await.is_none() {
            return;
        }
        for field in declared(operation) {
            let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
            let wanted = Some(json!([format!("_computed.{name}")]));
            let Some(exchange) = choose(run, operation, wanted, cases).await else { return };
            let is_there = exchange.data().is_some_and(|data| !computed_in(data, name).is_empty());
            cases.expect(is_there, || {
                Finding::of(&exchange, format!("{}: _computed.{name}", operation.name))
                    .expected(format!("{{\"_computed\": {{\"{name}\": …}}}} in the items"))
            });
        }
    });
    do_all(jobs).await;
}

pub(super) async fn computed_form(run: &Run, cases: &Cases) {
    let jobs = with_computed(run, cases).into_iter().map(|operation| async move {
        for field in declared(operation) {
            let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
            let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_named = cases.expect(is_path(name) && !kind.is_empty(), || {
                Finding::shown(format!("{}: computed_fields", operation.name), field.clone())
                    .expected("a `name` in snake_case, without `_computed.`, and a `type`")
            });
            if !is_named {
                continue;
            }
            let wanted = Some(json!([format!("_computed.{name}")]));
            let Some(exchange) = choose(run, operation, wanted, cases).await else { return };
            let found = exchange.data().map(|data| computed_in(data, name)).unwrap_or_default();
            let is_of_kind = |value: &&Value| match kind {
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => true,
            };
            cases.expect(found.iter().all(|value| value.is_null() || is_of_kind(value)), || {
                Finding::of(&exchange, format!("{}: _computed.{name}", operation.name))
                    .expected(format!("values of type {kind}"))
                    .fix("document the type of the computed values")
            });
        }
    });
    do_all(jobs).await;
}

pub(super) async fn computed_claims(run: &Run, cases: &Cases) {
    let jobs = with_computed(run, cases).into_iter().map(|operation| async move {
        for field in declared(operation) {
            let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
            let path = format!("_computed.{name}");
            let Some(exchange) = choose(run, operation, Some(json!([path])), cases).await else {
                return;
            };
            let found = exchange.data().map(|data| computed_in(data, name)).unwrap_or_default();
            let Some(value) = found.into_iter().find(|value| !value.is_null()) else { continue };
            for (claim, parameter, sent) in [
                ("filterable", "filter", json!({ path.as_str(): value })),
                ("sortable", "sort", json!({ "field": path })),
            ] {
                let claimed = field.get(claim).and_then(Value::as_bool);
                let Some(claimed) = claimed.filter(|_| operation.parameter(parameter).is_some())
                else {
                    continue;
                };
                let tried = refused_with(run, operation, [(parameter, sent)], cases).await;
                let Some(tried) = tried else { return };
                cases.expect(is_refused(&tried) != claimed, || {
                    Finding::of(&tried, format!("{}: {parameter} by {path}", operation.name))
                        .expected(match claimed {
                            true => {
                                format!("a success, because introspection states `{claim}: true`")
                            }
                            false => {
                                format!("a failure, because introspection states `{claim}: false`")
                            }
                        })
                });
            }
        }
    });
    do_all(jobs).await;
}
