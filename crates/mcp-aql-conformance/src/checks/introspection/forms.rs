//! Checks of the form of lists and details in introspection.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::adapter::gaps::states_protocol;
use crate::cases::{Cases, Finding};
use crate::checks::planned::ShownValues;
use crate::finding::listed;
use crate::forms::{self, Form, is_snake_case};
use crate::run::Run;

/// Returns the list with this name in a reply, or an empty list.
fn list<'a>(reply: &'a Value, name: &str) -> &'a [Value] {
    let list = reply.pointer("/data").and_then(|data| data.get(name)?.as_array());
    list.map_or(&[], Vec::as_slice)
}

/// Returns the name of an entry, or its index.
fn entry(index: usize, value: &Value) -> String {
    match value.get("name").and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None => format!("entry {index}"),
    }
}

/// Returns the replies with details: name, kind and reply.
fn details(run: &Run) -> impl Iterator<Item = (&str, &str, &Value)> {
    let operations =
        run.adapter.operations.iter().map(|it| (it.name.as_str(), "operation", &it.reply));
    let types = run.adapter.types.iter().map(|it| (it.name.as_str(), "type", &it.reply));
    operations.chain(types)
}

pub(super) fn list_form(run: &Run, cases: &Cases) {
    let listed = list(&run.adapter.operations_reply, "operations");
    let is_list = run.adapter.unread().is_none();
    cases.expect(is_list && !listed.is_empty(), || {
        Finding::shown("introspect operations", run.adapter.operations_reply.clone())
            .expected("a success with at least one entry in `data.operations`")
            .sent(json!({
                "tool": run.adapter.introspect,
                "arguments": { "operation": "introspect", "params": { "query": "operations" } },
            }))
    });
    for (index, value) in listed.iter().enumerate() {
        forms::LISTED_OPERATION.check(value, cases, || {
            Finding::shown(entry(index, value), value.clone()).fix(
                "give each entry of `data.operations` exactly `name`, `semantic_category`, \
                 `endpoint` and `description`; everything else belongs in the details",
            )
        });
    }
}

pub(super) fn unique_names(run: &Run, cases: &Cases) {
    let unique = |what: &str, names: &mut dyn Iterator<Item = &str>| {
        let mut seen = BTreeSet::new();
        for name in names {
            cases.expect(seen.insert(name), || Finding::shown(format!("{what} `{name}`"), name));
        }
    };
    unique("operation", &mut run.adapter.operations.iter().map(|it| it.name.as_str()));
    unique("type", &mut run.adapter.types.iter().map(|it| it.name.as_str()));
    for operation in &run.adapter.operations {
        let what = format!("{}: parameter", operation.name);
        unique(&what, &mut operation.parameters.iter().map(|it| it.name.as_str()));
    }
}

pub(super) const SUCCESS: Form =
    Form::Object(&[forms::must("success", Form::Just(true)), forms::must("data", Form::Open(&[]))]);

/// Returns all replies to `introspect`.
pub(super) fn replies<'r>(run: &'r Run, _: &Cases) -> ShownValues<'r> {
    let lists =
        [("operations", &run.adapter.operations_reply), ("types", &run.adapter.types_reply)];
    let details = details(run).map(|(name, _, reply)| (name, reply));
    let replies = lists.into_iter().chain(details);
    replies.map(|(name, reply)| (format!("introspect {name}"), reply)).collect()
}

pub(super) fn protocol<'r>(run: &'r Run, _: &Cases) -> ShownValues<'r> {
    vec![("_protocol".to_owned(), run.adapter.protocol())]
}

pub(super) fn protocol_words(run: &Run, cases: &Cases) {
    for (name, words) in WORDS {
        let Some(found) = run.adapter.protocol().get(name) else {
            cases.not_applicable(format!("`_protocol` does not state `{name}`"));
            continue;
        };
        cases.expect(found.as_str().is_some_and(|word| words.contains(&word)), || {
            Finding::shown(format!("_protocol.{name}"), found.clone())
                .expected(format!("one of {}", words.join(", ")))
        });
    }
}

pub(super) fn protocol_stated(run: &Run, cases: &Cases) {
    if !states_protocol(&run.adapter, cases) {
        return;
    }
    for (name, _) in WORDS {
        let stated = run.adapter.protocol().get(name);
        cases.expect(stated.is_some(), || {
            Finding::shown(format!("_protocol.{name}"), run.adapter.protocol().clone())
                .expected(format!("`{name}` in `_protocol`"))
        });
    }
}

/// The members of `_protocol` with a fixed set of values.
const WORDS: [(&str, &[&str]); 2] =
    [("conformance", &["level-1", "level-2"]), ("mode", &["semantic", "single", "all"])];

pub(super) fn no_protocol_elsewhere(run: &Run, cases: &Cases) {
    let lists = [
        ("operations", "operations", &run.adapter.operations_reply),
        ("types", "types", &run.adapter.types_reply),
    ];
    for (name, member, reply) in lists.into_iter().chain(details(run)) {
        let Some(data) = reply.get("data").and_then(Value::as_object) else { continue };
        let surplus: Vec<_> = data
            .keys()
            .filter(|key| *key != member && !(member == "operations" && *key == "_protocol"))
            .collect();
        cases.expect(surplus.is_empty(), || {
            Finding::shown(format!("introspect {name}"), reply.clone())
                .expected(format!("`data` with `{member}` only, without {}", listed(&surplus)))
        });
    }
}

/// Suggestion for findings: the members that the details of an operation must have.
static DETAILS_FIX: LazyLock<String> = LazyLock::new(|| {
    let (required, optional) = forms::OPERATION.members();
    format!(
        "give `data.operation` the members {}, and of optional ones only {}",
        listed(required),
        listed(optional)
    )
});

pub(super) fn details_form(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        let details = operation.details_as_sent();
        forms::OPERATION.check(details, cases, || {
            Finding::shown(&operation.name, details.clone()).fix(DETAILS_FIX.as_str())
        });
    }
}

pub(super) fn list_agrees_with_details(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        let details = operation.details();
        if !details.is_object() {
            let why = format!("the details of `{}` could not be read", operation.name);
            cases.block("introspection.details_form", why);
            continue;
        }
        for member in ["name", "semantic_category", "endpoint"] {
            let listed = operation.listed.get(member);
            // The checks of forms report missing members.
            if listed.is_none() || details.get(member).is_none() {
                continue;
            }
            cases.expect(listed == details.get(member), || {
                Finding::shown(
                    format!("{}: {member}", operation.name),
                    details.get(member).cloned().unwrap_or_default(),
                )
                .expected(format!(
                    "the same as in the list: {}",
                    operation.listed.get(member).unwrap_or_default()
                ))
            });
        }
    }
}

/// Returns the definition of each parameter.
pub(super) fn parameters<'r>(run: &'r Run, _: &Cases) -> ShownValues<'r> {
    let parameters = run.adapter.operations.iter().flat_map(|operation| {
        let parameters = operation.details_as_sent().get("parameters").and_then(Value::as_array);
        let parameters = parameters.into_iter().flatten().enumerate();
        parameters.map(|(at, it)| (format!("{}: {}", operation.name, entry(at, it)), it))
    });
    parameters.collect()
}

/// Returns a member that only some operations have.
pub(super) fn members<'r>(run: &'r Run, cases: &Cases, member: &str) -> ShownValues<'r> {
    let members = run.adapter.operations.iter().filter_map(|operation| {
        let value = operation.details().get(member)?;
        Some((format!("{}: {member}", operation.name), value))
    });
    cases.some_or_not_applicable(members, format!("no operation has `{member}`"))
}

pub(super) fn types_form(run: &Run, cases: &Cases) {
    let reply = &run.adapter.types_reply;
    cases.expect(reply.pointer("/data/types").is_some_and(Value::is_array), || {
        Finding::shown("introspect types", reply.clone()).expected("a list in `data.types`")
    });
    for (index, value) in list(reply, "types").iter().enumerate() {
        forms::TYPE_INFO.check(value, cases, || {
            Finding::shown(entry(index, value), value.clone()).fix(
                "give each entry of `data.types` `name`, `kind` and optional `description`; \
                 values, fields and members belong in the details",
            )
        });
    }
}

pub(super) fn type_details_form(run: &Run, cases: &Cases) {
    for of in &run.adapter.types {
        let details = of.details_as_sent();
        let kind = details.get("kind").and_then(Value::as_str).unwrap_or_default();
        let agrees = ["name", "kind"].iter().all(|it| of.listed.get(it) == details.get(it));
        match forms::type_details(kind) {
            Some(form) if agrees => {
                form.check(details, cases, || Finding::shown(&of.name, details.clone()));
            }
            _ => cases.fail(
                Finding::shown(&of.name, details.clone())
                    .expected("the name and the kind as in the list of types"),
            ),
        }
    }
    if run.adapter.types.is_empty() {
        cases.skip_without("a listed type");
    }
}

/// Names for which the protocol itself does not use snake_case: parameters of steps (§8.6.3), members of directives and
/// notifications (§8.7.1 and 8.7.3), settings of the evaluation (§8.7.4), and the input of aggregators.
const NAMED_BY_THE_PROTOCOL: [&str; 10] = [
    "stepDescription",
    "nextActionHint",
    "stepsRemaining",
    "nextStepRisk",
    "verificationId",
    "maxAutonomousSteps",
    "riskTolerance",
    "requiresApproval",
    "autoApprove",
    "maxResults",
];

pub(super) fn snake_case(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        let names = operation.parameters.iter().map(|parameter| parameter.name.as_str());
        for name in names.chain([operation.name.as_str()]) {
            cases.expect(is_snake_case(name) || NAMED_BY_THE_PROTOCOL.contains(&name), || {
                Finding::shown(format!("{}: {name}", operation.name), name)
            });
        }
    }
}
