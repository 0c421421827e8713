//! Checks that adapters accept all values allowed by introspection.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{all, is_harmless, is_named, subject, unfit, with};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::checks::calls::valid;
use crate::nouns::is_identifier;
use crate::run::{Run, do_all};
use crate::shape::Shape;
use crate::values;

/// Returns `true` if a failure concerns this parameter.
fn blames(exchange: &Exchange, parameter: &str) -> bool {
    exchange.failure().is_some_and(|failure| {
        let among_unknown = failure
            .details
            .get("unknown_params")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|name| name == parameter));
        failure.code.starts_with("VALIDATION_") && (is_named(&failure, parameter) || among_unknown)
    })
}

/// Returns a string of the same characters as the one at the bound, with a length far from both bounds.
fn amid(parameter: &Parameter, edge: &Value) -> Option<Value> {
    let edge = edge.as_str().filter(|_| parameter.member("enum").is_none())?;
    let letter = edge.chars().next()?;
    let length = edge.chars().count();
    let bound = |name: &str| usize::try_from(parameter.member(name)?.as_u64()?).ok();
    let least = bound("minLength").unwrap_or(0);
    let most = bound("maxLength").unwrap_or(usize::MAX).min(least.max(length).saturating_add(40));
    let amid = least.midpoint(most);
    (amid > 0 && amid != length).then(|| letter.to_string().repeat(amid).into())
}

pub(super) async fn boundaries(run: &Run, cases: &Cases) {
    let edges =
        |operation: &Operation, parameter: &Parameter| values::edges(run, operation, parameter);
    let mut calls = Vec::new();
    for (operation, params) in all(run, cases) {
        for parameter in &operation.parameters {
            for edge in edges(operation, parameter) {
                if is_harmless(operation) {
                    let amid = amid(parameter, &edge);
                    let with = |value| with(&params, operation, &parameter.name, value);
                    calls.push((operation, parameter, with(edge), amid.map(with)));
                } else if run.is_named_whole(operation) {
                    cases.skip(Skip::Unsafe(operation.name.clone()));
                } else {
                    cases.skip(without_values(operation));
                }
            }
        }
    }
    let has_edges = |operation: &Operation| {
        operation.name != "introspect"
            && operation.parameters.iter().any(|parameter| !edges(operation, parameter).is_empty())
    };
    if !run.adapter.operations.iter().any(has_edges) {
        cases.not_applicable("no parameter is documented with a constraint that has bounds");
    }
    let jobs = calls.into_iter().map(|(operation, parameter, params, amid)| async move {
        let exchange = run.call(operation, params, cases).await;
        let Some(exchange) = exchange.filter(|it| cases.is_readable(it)) else { return };
        let is_refused = blames(&exchange, &parameter.name);
        if let Some(params) = amid.filter(|_| is_refused) {
            let Some(control) = run.call(operation, params, cases).await else { return };
            if blames(&control, &parameter.name) {
                // The operation rejects these characters for another reason.
                return cases.skip(unfit(operation));
            }
        }
        cases.expect(!is_refused, || Finding::of(&exchange, subject(operation, parameter)));
    });
    do_all(jobs).await;
}

/// Returns `true` if introspection documents all rules for the values of a parameter.
fn is_fully_documented(parameter: &Parameter) -> bool {
    let is_simple = ["string", "integer", "number", "boolean", "array"]
        .iter()
        .any(|kind| parameter.kind == *kind);
    let is_cursor = ["after", "before", "cursor", "fields"].contains(&parameter.name.as_str());
    is_simple && !is_cursor && !is_identifier(&parameter.name)
}

/// Calls an operation with the configured parameters.
async fn as_named(run: &Run, operation: &Operation, params: Map<String, Value>, cases: &Cases) {
    let exchange = run.act(operation, params.clone(), cases).await;
    let Some(exchange) = exchange.filter(|it| cases.is_readable(it)) else { return };
    for parameter in &operation.parameters {
        if !params.contains_key(&parameter.name) {
            cases.skip_without(format!(
                "a value for `{}`: add one under [params.{}]",
                parameter.name, operation.name
            ));
            continue;
        }
        cases.expect(!blames(&exchange, &parameter.name), || {
            Finding::of(&exchange, subject(operation, parameter)).expected(format!(
                "an accepted `{}`, because its value is configured",
                parameter.name
            ))
        });
    }
}

/// Returns a value in the documented form of a parameter: the one in the call, or another one.
fn value_of(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    params: &Map<String, Value>,
) -> Option<Value> {
    let value = params.get(&parameter.name).cloned();
    value
        .or_else(|| values::of(run, operation, parameter, 0))
        .or_else(|| values::missing_id(run, operation, parameter))
        .filter(|_| !values::is_withheld(operation, parameter))
}

pub(super) async fn documented_accepted(run: &Run, cases: &Cases) {
    let mut calls = Vec::new();
    let mut named = Vec::new();
    for (operation, params) in all(run, cases) {
        if run.is_named_whole(operation) {
            named.push((operation, params));
            continue;
        }
        for parameter in &operation.parameters {
            if !is_harmless(operation) {
                cases.skip(without_values(operation));
                continue;
            }
            match value_of(run, operation, parameter, &params) {
                Some(value) => {
                    let is_generated = values::is_generated(run, operation, parameter, &value);
                    let params = with(&params, operation, &parameter.name, value);
                    calls.push((operation, parameter, params, is_generated));
                }
                None => cases.skip_without(format!(
                    "a value for `{}`: add one under [params.{}]",
                    parameter.name, operation.name
                )),
            }
        }
    }
    let jobs = calls.into_iter().map(|(operation, parameter, params, is_generated)| async move {
        let exchange = run.call(operation, params, cases).await;
        let Some(exchange) = exchange.filter(|it| cases.is_readable(it)) else { return };
        let is_unknown = exchange.code() == Some("VALIDATION_UNKNOWN_PARAM");
        let is_blamed = blames(&exchange, &parameter.name);
        if is_blamed
            && is_generated
            && is_fully_documented(parameter)
            && exchange.code() == Some("VALIDATION_INVALID_VALUE")
        {
            return cases.skip(unfit(operation));
        }
        cases.expect(!(is_blamed && (is_unknown || is_fully_documented(parameter))), || {
            Finding::of(&exchange, subject(operation, parameter))
                .expected(format!(
                    "an accepted `{}`, because it has the documented form",
                    parameter.name
                ))
                .fix("accept every documented parameter in its documented form")
        });
    });
    do_all(jobs).await;
    do_all(named.into_iter().map(|(operation, params)| as_named(run, operation, params, cases)))
        .await;
}

pub(super) async fn default_effect(run: &Run, cases: &Cases) {
    let with_default = |operation: &Operation| {
        operation.parameters.iter().any(|parameter| parameter.member("default").is_some())
    };
    if !run.adapter.reads().any(with_default) {
        // The check `creates.defaults_shown` covers CREATE operations.
        cases.not_applicable("no READ operation documents a default");
        return;
    }
    let jobs = run.adapter.reads().filter(|operation| with_default(operation)).map(
        |operation| async move {
            let Some(params) = valid(run, operation, cases) else { return };
            let Some(first) = run.call(operation, params.clone(), cases).await else { return };
            let Some(second) = run.call(operation, params.clone(), cases).await else { return };
            if first.data().is_none() || first.data() != second.data() {
                return cases.skip_without(format!(
                    "`{}` returns different results for equal calls",
                    operation.name
                ));
            }
            for parameter in &operation.parameters {
                let Some(default) = parameter.member("default").filter(|value| !value.is_null())
                else {
                    continue;
                };
                // The check `introspection.defaults_fit` reports invalid defaults.
                let is_fit = Shape::of(&run.adapter, parameter).accepts(default);
                if params.contains_key(&parameter.name) || !is_fit {
                    continue;
                }
                let bare = &params;
                let params = with(bare, operation, &parameter.name, default.clone());
                let Some(mut third) = run.call(operation, params.clone(), cases).await else {
                    return;
                };
                let mut is_same = third.data() == first.data();
                if !is_same {
                    // The data may have changed between the calls, so repeat both.
                    let Some(without) = run.call(operation, bare.clone(), cases).await else {
                        return;
                    };
                    let Some(again) = run.call(operation, params, cases).await else { return };
                    is_same = again.data() == without.data();
                    third = again;
                }
                cases.expect(is_same, || Finding::of(&third, subject(operation, parameter)));
            }
        },
    );
    do_all(jobs).await;
}

/// Parameters of the protocol whose type depends on the resource.
const PER_RESOURCE: [&str; 6] = ["aggregate", "fields", "filter", "input", "query", "sort"];

pub(super) fn shared_agree(run: &Run, cases: &Cases) {
    let mut shared: BTreeMap<&str, Vec<(&Operation, &Parameter)>> = BTreeMap::new();
    for operation in &run.adapter.operations {
        // The protocol defines the parameters of `introspect`.
        for parameter in operation.parameters.iter().filter(|_| operation.name != "introspect") {
            shared.entry(&parameter.name).or_default().push((operation, parameter));
        }
    }
    shared.retain(|_, places| places.len() > 1);
    if shared.is_empty() {
        cases.not_applicable("no parameter name occurs in two operations");
    }
    for (name, places) in shared {
        let Some(((first, model), others)) = places.split_first() else { continue };
        let other = others.iter().find(|(_, parameter)| {
            let defaults = (parameter.member("default"), model.member("default"));
            // The protocol has different defaults of `fields` for single items, lists and searches.
            let differ =
                name != "fields" && matches!(defaults, (Some(one), Some(two)) if one != two);
            // Each resource has its own types for its filter and its input.
            let is_own = |kind: &str| kind.starts_with(|first: char| first.is_ascii_uppercase());
            let are_own =
                PER_RESOURCE.contains(&name) && is_own(&parameter.kind) && is_own(&model.kind);
            let is_open = |kind: &str| ["", "any", "unknown"].contains(&kind);
            let are_stated = !is_open(&parameter.kind) && !is_open(&model.kind);
            (parameter.kind != model.kind && are_stated && !are_own) || differ
        });
        cases.expect(other.is_none(), || {
            let (second, parameter) = other.copied().unwrap_or((first, model));
            let mut shown = parameter.raw.clone();
            shown.remove("description");
            Finding::shown(
                format!("{name} of {} and {}", first.name, second.name),
                Value::Object(shown),
            )
            .expected(match model.member("default") {
                Some(default) => format!(
                    "the same type and default as in `{}`: {}, {default}",
                    first.name, model.kind
                ),
                None => format!("the same type as in `{}`: {}", first.name, model.kind),
            })
        });
    }
}

/// Returns the reason not to call an operation that might change data with any parameters.
fn without_values(operation: &Operation) -> Skip {
    let name = &operation.name;
    if operation.lacks_reading_name() {
        return Skip::NotReading(name.clone());
    }
    Skip::NoFixture(format!(
        "`{name}` might change data: add the values with which the run may call it under \
         [params.{name}]"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_text_has_another_length_within_the_bounds() {
        let parameter = |raw: Value| Parameter {
            name: "note".to_owned(),
            kind: "string".to_owned(),
            required: true,
            raw: raw.as_object().cloned().unwrap_or_default(),
        };
        let length = |raw: Value, edge: &str| {
            amid(&parameter(raw), &json!(edge))?.as_str().map(|text| text.chars().count())
        };
        assert_eq!(length(json!({ "minLength": 2, "maxLength": 10 }), "xx"), Some(6));
        assert_eq!(length(json!({ "maxLength": 4 }), "éééé"), Some(2));
        assert_eq!(length(json!({ "minLength": 1 }), "x"), Some(21));
        // There is no other length, or the bound is not a length.
        assert_eq!(length(json!({ "minLength": 3, "maxLength": 3 }), "xxx"), None);
        assert_eq!(length(json!({ "enum": ["x"] }), "x"), None);
        assert_eq!(amid(&parameter(json!({ "maximum": 3 })), &json!(3)), None);
    }
}
