//! Checks of the form and the validation of `input`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{only, subjects};
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::items::same;
use crate::run::Run;
use crate::shape::Fault;

pub(super) fn input_documented(run: &Run, cases: &Cases) {
    let mut operations = run.adapter.of(Category::Update).peekable();
    if operations.peek().is_none() {
        return cases.not_applicable("the adapter has no UPDATE operation");
    }
    for operation in operations {
        if let Some(gap) = &operation.gap {
            cases.skip(gap.skip());
            continue;
        }
        let is_object = |kind: &str| {
            let named = run.adapter.types.iter().find(|known| known.name == kind);
            kind == "object"
                || named
                    .is_some_and(|named| named.listed.get("kind").is_some_and(|it| it == "object"))
        };
        let input = operation.parameter("input");
        let holds = input.is_some_and(|input| input.required && is_object(&input.kind));
        cases.expect(holds, || {
            Finding::shown(
                &operation.name,
                operation.details_as_sent().get("parameters").cloned().unwrap_or_default(),
            )
        });
    }
}

pub(super) async fn input_required(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some(exchange) = subject.call([]).await else { continue };
        let holds = exchange.failure().is_some_and(|failure| {
            failure.code == "VALIDATION_MISSING_PARAM"
                && failure.details.get("param_name").is_some_and(|name| name == "input")
        });
        cases.expect(holds, || Finding::of(&exchange, &subject.update.name));
    }
}

pub(super) async fn input_type(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        for input in [json!("title=x"), json!(7), json!(true), json!([]), Value::Null] {
            let Some(exchange) = subject.send(input.clone()).await else {
                continue;
            };
            let code = exchange.code();
            // Adapters may treat null like an absent parameter.
            let holds = code == Some("VALIDATION_INVALID_TYPE")
                || (input.is_null() && code == Some("VALIDATION_MISSING_PARAM"));
            cases.expect(holds, || Finding::of(&exchange, &subject.update.name));
        }
    }
}

/// Sends the changed field next to `input`. The adapter must reject the call and keep the field:
///
/// ```json
/// { "operation": "update_bed", "params": { "bed_id": "bed-7", "name": "By the door", "input": {} } }
/// ```
pub(super) async fn flat_refused(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        if subject.update.parameter("input").is_none() {
            cases.fail(
                Finding::shown(
                    &subject.update.name,
                    subject.update.details_as_sent().get("parameters").cloned().unwrap_or_default(),
                )
                .expected("a parameter `input` with the changed fields"),
            );
            continue;
        }
        let Some((name, value, now)) = subject.change().await else { continue };
        if subject.update.parameter(name).is_some() {
            continue;
        }
        let flat = [vec![(name, value.clone())], vec![(name, value.clone()), ("input", json!({}))]];
        for params in flat {
            let Some(exchange) = subject.call(params).await else { continue };
            let Some(after) = subject.stored().await else { continue };
            let is_same = same(
                now.get(name).unwrap_or(&Value::Null),
                after.get(name).unwrap_or(&Value::Null),
            );
            cases.expect(exchange.failure().is_some() && is_same, || {
                Finding::of(&exchange, subject.field(name))
                    .expected(format!(
                        "a failure and `{name}` unchanged, because it is outside `input`"
                    ))
                    .fix(
                        "change only fields inside `input`, and reject others as unknown \
                         parameters",
                    )
            });
        }
    }
}

pub(super) async fn identifier_inside(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let id = subject.thing.resource.id.clone();
        let Some((name, value, _)) = subject.change().await else { continue };
        let input = json!({ name: value, id.as_str(): subject.thing.id });
        let Some(exchange) = subject.send(input).await else { continue };
        cases.expect(exchange.failure().is_some(), || {
            Finding::of(&exchange, &subject.update.name)
                .expected(format!("a failure VALIDATION_UNKNOWN_FIELD that names `{id}`"))
        });
    }
}

pub(super) async fn unknown_field(run: &Run, cases: &Cases) {
    const UNKNOWN_FIELD: &str = "conformance_probe";
    for subject in subjects(run, cases).await {
        let mut inputs = vec![only(UNKNOWN_FIELD, json!("x"))];
        let nested = subject
            .thing
            .resource
            .changeable(run)
            .into_iter()
            .filter(|field| !field.shape.fields().is_empty());
        inputs.extend(nested.map(|field| only(field.name, only(UNKNOWN_FIELD, json!("x")))));
        for input in inputs {
            let Some(exchange) = subject.send(input).await else {
                continue;
            };
            let holds = exchange.failure().is_some_and(|failure| {
                failure.code == "VALIDATION_UNKNOWN_FIELD"
                    && failure.message.contains(UNKNOWN_FIELD)
            });
            cases.expect(holds, || {
                Finding::of(&exchange, &subject.update.name).expected(format!(
                    "a failure VALIDATION_UNKNOWN_FIELD whose message names '{UNKNOWN_FIELD}'"
                ))
            });
        }
    }
}

/// Returns invalid values of a field, one for each kind of defect.
pub(super) fn wrongs(field: crate::items::Field<'_>) -> Vec<(Fault, Value)> {
    let mut faults = BTreeSet::new();
    field
        .shape
        .wrong()
        .into_iter()
        // An update may contain a part of an object, so an object with missing members is valid.
        .filter(|wrong| {
            wrong.fault != Fault::Member && !(wrong.fault == Fault::Type && wrong.value.is_object())
        })
        .filter(|wrong| faults.insert(wrong.fault))
        .map(|wrong| (wrong.fault, wrong.value))
        .collect()
}

pub(super) async fn values_checked(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let fields = subject.thing.resource.changeable(run);
        let mut has_any = false;
        for field in fields {
            for (fault, value) in wrongs(field) {
                has_any = true;
                let expected = match fault {
                    Fault::Type => "VALIDATION_INVALID_TYPE",
                    Fault::Item => "VALIDATION_INVALID_TYPE or VALIDATION_INVALID_VALUE",
                    _ => "VALIDATION_INVALID_VALUE",
                };
                let input = only(field.name, value);
                let Some(exchange) = subject.send(input).await else {
                    continue;
                };
                let code = exchange.code().unwrap_or_default();
                cases.expect(code.starts_with("VALIDATION_"), || {
                    Finding::of(&exchange, subject.field(field.name))
                        .expected(format!("a failure {expected} that names `{}`", field.name))
                });
            }
        }
        if !has_any {
            cases.skip_without(format!(
                "a field of `{}` with a known type: document the fields in a type that `input` \
                 names",
                subject.update.name
            ));
        }
    }
}

pub(super) async fn nothing_on_failure(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some((name, value, _)) = subject.change().await else { continue };
        let others = subject.thing.resource.changeable(run);
        let wrong = others
            .into_iter()
            .rev()
            .filter(|field| field.name != name)
            .find_map(|field| Some((field.name, wrongs(field).into_iter().next()?.1)));
        let mut inputs = vec![json!({ name: value, "conformance_probe": 1 })];
        if let Some((other, wrong)) = wrong {
            inputs.push(json!({ name: value, other: wrong }));
        }
        for input in inputs {
            let Some(now) = subject.stored().await else { break };
            let Some(exchange) = subject.send(input).await else {
                continue;
            };
            // Other checks report that the rejection is missing.
            if exchange.failure().is_none() {
                continue;
            }
            let Some(after) = subject.stored().await else { continue };
            let there = |object: &Value| object.get(name).cloned().unwrap_or_default();
            cases.expect(same(&there(&now), &there(&after)), || {
                Finding::of(&exchange, subject.field(name))
                    .expected(format!(
                        "`{name}` unchanged ({}), because the call was rejected",
                        there(&now)
                    ))
                    .received(after.clone())
            });
        }
    }
}
