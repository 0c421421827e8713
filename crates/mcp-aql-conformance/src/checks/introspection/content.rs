//! Checks that the lists and the details of introspection agree with each other.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::forms::replies;
use crate::adapter::gaps::states_protocol;
use crate::adapter::{Operation, Parameter};
use crate::cases::{Cases, Finding};
use crate::checks::limits::Limit;
use crate::run::Run;
use crate::shape::Shape;

/// JSON types. They need not be in the list of types.
const PLAIN: [&str; 8] =
    ["string", "integer", "number", "boolean", "array", "object", "null", "any"];

/// The types defined by the protocol.
const STANDARD_PARAMETERS: [&str; 6] = [
    "SemanticCategory",
    "OperationInput",
    "OperationResult",
    "OperationSuccess",
    "OperationFailure",
    "EndpointPermissions",
];

/// The concurrency categories.
const CONCURRENCY: [&str; 4] =
    ["serialized", "read-concurrent", "fully-concurrent", "resource-locked"];

pub(super) fn introspect_listed(run: &Run, cases: &Cases) {
    if run.adapter.operations.is_empty() {
        // The check `introspection.list_form` reports the reason.
        return cases.skip_without("the list of operations has no entry that could be read");
    }
    cases.expect(run.adapter.operation("introspect").is_some(), || {
        Finding::shown(
            "introspect operations",
            run.adapter
                .operations
                .iter()
                .map(|operation| operation.name.as_str())
                .collect::<Vec<_>>(),
        )
    });
}

/// Returns the type names in a type expression: words that start with a capital letter.
///
/// ```text
/// Page<Task>      →  Page, Task
/// string or Task  →  Task
/// ```
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_uppercase()))
}

pub(super) fn types_resolve(run: &Run, cases: &Cases) {
    let listed: BTreeSet<_> = run.adapter.types.iter().map(|of| of.name.as_str()).collect();
    let resolve = |subject: String, text: &str| {
        let unknown: Vec<_> = named(text).filter(|name| !listed.contains(name)).collect();
        cases.expect(listed.contains(text) || unknown.is_empty(), || {
            Finding::shown(subject, text).expected(
                // Quoted names are ignored when causes are compared, so all missing types are one cause.
                format!("only types in the list of types, not \"{}\"", unknown.join("\", \"")),
            )
        });
    };
    for operation in &run.adapter.operations {
        if let Some(name) = operation.details().pointer("/returns/name").and_then(Value::as_str) {
            resolve(format!("{}: returns", operation.name), name);
        }
        for parameter in &operation.parameters {
            resolve(format!("{}: {}", operation.name, parameter.name), &parameter.kind);
            if let Some(items) = item_type(parameter.member("items")) {
                resolve(format!("{}: {}", operation.name, parameter.name), items);
            }
        }
    }
    for of in &run.adapter.types {
        let details = of.details();
        let part = |name: &str| details.get(name).and_then(Value::as_array).into_iter().flatten();
        for field in part("fields") {
            let kind = field.get("type").and_then(Value::as_str);
            for kind in kind.into_iter().chain(item_type(field.get("items"))) {
                resolve(format!("{}: {}", of.name, field.get("name").unwrap_or(field)), kind);
            }
        }
        for member in part("members").filter_map(Value::as_str) {
            if !PLAIN.contains(&member) {
                resolve(of.name.clone(), member);
            }
        }
    }
}

fn item_type(items: Option<&Value>) -> Option<&str> {
    items?.get("type")?.as_str()
}

pub(super) fn standard_types(run: &Run, cases: &Cases) {
    for name in STANDARD_PARAMETERS {
        cases.expect(run.adapter.types.iter().any(|of| of.name == name), || {
            Finding::shown(
                name,
                run.adapter.types.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(),
            )
            .expected(format!("`{name}` in the list of types"))
        });
    }
}

/// Returns the examples of an operation.
fn shown(operation: &Operation) -> impl Iterator<Item = &Value> {
    operation.details().get("examples").and_then(Value::as_array).into_iter().flatten()
}

/// Returns `true` if the list of parameters alone shows how to write a valid call: all required values are plain values
/// or lists of them.
///
/// The check `introspection.object_members` judges whether the members of `input` are shown.
fn is_plain_call(run: &Run, operation: &Operation) -> bool {
    let is_plain =
        |shape: Shape<'_>| shape.is_plain() || shape.items().is_some_and(Shape::is_plain);
    let mut values = operation.required().filter(|parameter| parameter.name != "input");
    values.all(|parameter| is_plain(Shape::of(&run.adapter, parameter)))
}

pub(super) fn examples(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in &run.adapter.operations {
        if shown(operation).next().is_none() && is_plain_call(run, operation) {
            continue;
        }
        is_any = true;
        cases.expect(shown(operation).next().is_some(), || {
            Finding::shown(&operation.name, operation.details_as_sent().clone())
                .expected("at least one entry in `examples`")
        });
        for example in shown(operation) {
            if let Some(missing) = lacking(operation, example) {
                cases.fail(
                    Finding::shown(&operation.name, example.clone())
                        .expected(format!("every required parameter, `{}` too", missing.name))
                        .fix("show complete requests"),
                );
            }
        }
    }
    if !is_any {
        cases.not_applicable("no operation requires an object, and none documents an example");
    }
}

pub(super) fn examples_fit(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        for example in shown(operation) {
            if !example.is_object() {
                cases.block("introspection.details_form", "an example is not an object");
                continue;
            }
            let Some(request) = example.get("request").and_then(Value::as_object) else { continue };
            let reported = unfit(run, operation, request);
            cases.expect(reported.is_none(), || {
                Finding::shown(&operation.name, example.clone())
                    .expected(reported.clone().unwrap_or_default())
            });
        }
    }
    if run.adapter.operations.iter().all(|operation| shown(operation).next().is_none()) {
        cases.not_applicable("no operation documents an example");
    }
}

/// Returns the expectation that an example violates, if any.
fn unfit(run: &Run, operation: &Operation, request: &Map<String, Value>) -> Option<String> {
    if request.get("operation").and_then(Value::as_str) != Some(&operation.name) {
        return Some(format!("`operation` is `{}`", operation.name));
    }
    let nested = request.get("params").and_then(Value::as_object);
    let outer = request.iter().filter(|(name, _)| *name != "operation" && *name != "params");
    let mut given: Vec<_> = nested.into_iter().flatten().chain(outer).collect();
    given.retain(|(name, _)| !name.starts_with('_'));
    for (name, value) in &given {
        let Some(parameter) = operation.parameter(name) else {
            return Some(format!("documented parameters only, not `{name}`"));
        };
        if !fits(run, parameter, value) {
            return Some(format!("a value for `{name}` as {}", definition(parameter)));
        }
    }
    None
}

/// Returns a required parameter that an example omits.
fn lacking<'a>(operation: &'a Operation, example: &Value) -> Option<&'a Parameter> {
    let request = example.get("request")?.as_object()?;
    let nested = request.get("params").and_then(Value::as_object);
    operation.required().find(|parameter| {
        !request.contains_key(&parameter.name)
            && !nested.is_some_and(|params| params.contains_key(&parameter.name))
    })
}

/// Returns `true` if the value in an example is valid for the parameter.
///
/// For objects of named types, only the member names are checked: prose may allow more values, for example operators of
/// a filter.
fn fits(run: &Run, parameter: &Parameter, value: &Value) -> bool {
    let fields = run.adapter.types.iter().find(|known| known.name == parameter.kind);
    let fields = fields.and_then(|known| known.details().get("fields")?.as_array());
    match (value.as_object(), fields) {
        (Some(members), Some(fields)) => members.keys().all(|member| {
            fields.iter().any(|field| field.get("name").is_some_and(|name| name == member))
        }),
        _ => Shape::of(&run.adapter, parameter).accepts(value),
    }
}

/// Returns the definition of the parameter without its description.
fn definition(parameter: &Parameter) -> Value {
    let mut raw = parameter.raw.clone();
    raw.remove("description");
    Value::Object(raw)
}

pub(super) fn descriptions(run: &Run, cases: &Cases) {
    let is_reported = |text: &str| !text.trim().is_empty();
    for operation in &run.adapter.operations {
        let expect = |subject: String, text: &str| {
            cases.expect(is_reported(text), || Finding::shown(subject, text));
        };
        expect(operation.name.clone(), &operation.description);
        let listed = operation.listed.get("description").and_then(Value::as_str);
        expect(format!("{} in the list", operation.name), listed.unwrap_or_default());
        for parameter in &operation.parameters {
            let text = parameter.member("description").and_then(Value::as_str).unwrap_or_default();
            expect(format!("{}: {}", operation.name, parameter.name), text);
        }
    }
}

pub(super) fn defaults_fit(run: &Run, cases: &Cases) {
    let defaults = run.adapter.parameters().filter_map(|(operation, parameter)| {
        Some((operation, parameter, parameter.member("default")?))
    });
    let defaults = cases.some_or_not_applicable(defaults, "no parameter documents a default");
    for (operation, parameter, default) in defaults {
        // A null stands for a missing default.
        let fits = Shape::of(&run.adapter, parameter).accepts(default) || default.is_null();
        cases.expect(fits && !parameter.required, || {
            Finding::shown(
                format!("{}: {}", operation.name, parameter.name),
                Value::Object(parameter.raw.clone()),
            )
        });
    }
}

pub(super) fn limits_stated(run: &Run, cases: &Cases) {
    if !states_protocol(&run.adapter, cases) {
        return;
    }
    for name in Limit::ALL.map(Limit::member) {
        let limits = run.adapter.protocol().get("limits").unwrap_or(&Value::Null);
        cases.expect(limits.get(name).is_some(), || {
            Finding::shown(format!("_protocol.limits.{name}"), limits.clone())
                .expected(format!("`{name}` in `_protocol.limits`"))
        });
    }
}

pub(super) fn limits_in_range(run: &Run, cases: &Cases) {
    let limits = run.adapter.protocol().get("limits").unwrap_or(&Value::Null);
    let limits =
        Limit::ALL.into_iter().filter_map(|limit| Some((limit, limits.get(limit.member())?)));
    for (limit, value) in cases.some_or_not_applicable(limits, "no limits are stated") {
        let (name, (least, most)) = (limit.member(), limit.range());
        let number = value.as_u64().and_then(|value| usize::try_from(value).ok());
        let is_in_range = number.is_some_and(|value| (least..=most).contains(&value));
        cases.expect(is_in_range, || {
            Finding::shown(format!("_protocol.limits.{name}"), value.clone())
                .expected(format!("a number from {least} to {most}"))
        });
    }
}

pub(super) fn concurrency_stated(run: &Run, cases: &Cases) {
    if !states_protocol(&run.adapter, cases) {
        return;
    }
    let stated = run.adapter.protocol().get("concurrency");
    cases.expect(stated.is_some(), || {
        Finding::shown("_protocol.concurrency", run.adapter.protocol().clone())
            .expected(format!("`concurrency` in `_protocol`: one of {}", CONCURRENCY.join(", ")))
    });
}

pub(super) fn concurrency_value(run: &Run, cases: &Cases) {
    let Some(stated) = run.adapter.protocol().get("concurrency") else {
        return cases.not_applicable("`_protocol` does not state the concurrency category");
    };
    let is_known = stated.as_str().is_some_and(|word| CONCURRENCY.contains(&word));
    cases.expect(is_known, || {
        Finding::shown("_protocol.concurrency", stated.clone())
            .expected(format!("one of {}", CONCURRENCY.join(", ")))
    });
}

pub(super) fn strict_mode_hidden(run: &Run, cases: &Cases) {
    for (subject, reply) in replies(run, cases) {
        cases.expect(!shows_strict_mode(reply), || Finding::shown(subject, reply.clone()));
    }
}

fn shows_strict_mode(value: &Value) -> bool {
    let is_it = |name: &str| matches!(name, "strict_mode" | "strictMode");
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| {
            is_it(name)
                || (name == "name" && value.as_str().is_some_and(is_it))
                || shows_strict_mode(value)
        }),
        Value::Array(items) => items.iter().any(shows_strict_mode),
        _ => false,
    }
}
