//! Checks of danger levels and trust levels.

use serde_json::{Value, json};

use super::danger_levels::{DangerLevels, LEVELS, describes};
use super::{Check, checks};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::forms::{Form, may, must};
use crate::items::same;
use crate::resources::{Resource, Role};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "danger.stated" => Reads(stated), ["REQ-DNG-04"],
        "Introspection states the danger level of each operation",
        fix: "state it in the reply to `introspect` with the query `danger`: {\"operations\": [{\"name\": …, \
         \"level\": …}]}, or in the description";
    Must 2 "danger.values" => Reads(words), ["REQ-DNG-01"],
        "Danger levels are safe, reversible, destructive, dangerous or forbidden",
        fix: "answer every documented query";
    Should 2 "danger.levels" => Reads(levels), ["REQ-DNG-02"],
        "READ operations are safe, and operations that overwrite or remove data are not",
        fix: "label operations by their effect on stored data; the defaults are safe for READ, destructive for \
         DELETE and reversible for the rest";
    Must 2 "danger.gated" => Changes(gated), ["REQ-DNG-03", "REQ-GATE-07"],
        "Operations of the level destructive or above require confirmation",
        fix: "require confirmation for operations of the level destructive or above";
    Must 2 "danger.as_stated" => Changes(as_stated), ["REQ-DNG-04", "REQ-TOK-06"],
        "A confirmation request states the same danger level as introspection",
        fix: "generate the reply to `introspect` from the settings of the confirmation gate";
    Should 2 "danger.trust_stated" => Reads(trust_stated), ["REQ-DNG-16", "REQ-DNG-13"],
        "`introspect` with `adapter_info` states the trust level",
        fix: "return name, version and the trust block";
];

/// The trust levels of the protocol.
const TRUST: Form =
    Form::OneOf(&["untested", "generated", "validated", "community_reviewed", "certified"]);

/// Returns `true` if the adapter documents any gate.
pub(super) fn has_gates(run: &Run, stated: &DangerLevels) -> bool {
    ["confirmation", "dangerous_operations"]
        .iter()
        .any(|name| run.adapter.capability(name) == Some(true))
        || stated.reply.is_some()
        || run.adapter.operations.iter().any(|operation| stated.is_reported(operation))
}

/// Returns `true` if the query `danger` was answered or does not exist.
fn is_answered(stated: &DangerLevels, cases: &Cases) -> bool {
    let is_answered = stated.reply.as_ref().is_none_or(|reply| reply.body().is_some());
    if !is_answered {
        cases.skip_without("a result of `introspect` with the query `danger`");
    }
    is_answered
}

async fn stated(run: &Run, cases: &Cases) {
    let stated = DangerLevels::query(run, cases).await;
    if !has_gates(run, &stated) {
        return cases.not_applicable("no danger level or confirmation is documented");
    }
    let Some(reply) = stated.reply.as_ref().filter(|_| is_answered(&stated, cases)) else {
        if stated.reply.is_none() {
            // Without the query `danger`, harmless operations need not state their level.
            let reported = run.adapter.operations.iter().any(|it| stated.is_reported(it));
            cases.expect(reported, || {
                let expected = "the danger levels of the operations that require confirmation";
                Finding::shown("introspect", run.adapter.protocol().clone()).expected(expected)
            });
        }
        return;
    };
    for operation in run.adapter.operations.iter().filter(|it| it.name != "introspect") {
        cases.expect(stated.is_reported(operation), || {
            Finding::shown(&operation.name, reply.received())
                .expected("the danger level of the operation")
        });
    }
}

async fn words(run: &Run, cases: &Cases) {
    let stated = DangerLevels::query(run, cases).await;
    let Some(reply) = &stated.reply else {
        return cases.not_applicable("`introspect` does not document the query `danger`");
    };
    if !is_answered(&stated, cases) {
        return;
    }
    let entries = reply.data().and_then(|data| data.get("operations")?.as_array());
    let Some(entries) = entries else {
        return cases.fail(
            Finding::of(reply, "introspect danger")
                .expected("`data.operations`, a list with an entry for each operation"),
        );
    };
    const ENTRY: Form = Form::Open(&[
        must("name", Form::Word),
        must("level", Form::OneOf(&LEVELS)),
        may("requires_confirmation", Form::Flag),
        may("reasons", Form::List(&Form::Word)),
        may("confirmation_message", Form::Word),
        may("cooldown_seconds", Form::Whole(0)),
        may("requires_reauth", Form::Flag),
    ]);
    for entry in entries {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or("introspect danger");
        ENTRY.check(entry, cases, || {
            Finding::shown(name, entry.clone()).fix("use the protocol's five levels in lower case")
        });
    }
}

async fn levels(run: &Run, cases: &Cases) {
    let stated = DangerLevels::query(run, cases).await;
    if stated.reply.is_none() {
        return cases.not_applicable("`introspect` does not document the query `danger`");
    }
    if !is_answered(&stated, cases) {
        return;
    }
    for operation in &run.adapter.operations {
        let level = stated.level(operation).unwrap_or_default();
        let expected = match operation.category {
            Some(Category::Read) => "safe",
            Some(Category::Update | Category::Delete) => "reversible or worse",
            _ => continue,
        };
        let holds = (level == "safe") == (expected == "safe");
        cases.expect(holds, || {
            Finding::shown(&operation.name, level).expected(format!("{expected}, for its category"))
        });
    }
}

async fn gated(run: &Run, cases: &Cases) {
    let stated = DangerLevels::query(run, cases).await;
    let mut is_gated = false;
    for kind in run.resources().kinds() {
        for role in [Role::Delete, Role::Update] {
            let Some(operation) = kind.operation(&run.adapter, role) else { continue };
            if stated.requires_gate(operation) {
                is_gated = true;
                expect_gated(run, kind, operation, &stated, cases).await;
            }
        }
    }
    if is_gated {
        return;
    }
    let mut dangerous = run.adapter.operations.iter().filter(|operation| {
        matches!(operation.category, Some(Category::Update | Category::Delete))
            && stated.requires_gate(operation)
    });
    match dangerous.next() {
        Some(operation) => cases.skip_without(format!(
            "items that the run can create and `{}` acts on: name under [resources.NAME] the \
             operations that create and change or remove one",
            operation.name
        )),
        None => cases.not_applicable(
            "no operation that changes or removes items has the level destructive or above",
        ),
    }
}

/// Expects the adapter to hold an operation on a created item until it is confirmed.
async fn expect_gated(
    run: &Run,
    kind: &Resource,
    operation: &Operation,
    stated: &DangerLevels,
    cases: &Cases,
) {
    let Some(()) = run.permits(operation, cases) else { return };
    let Some(thing) = run.make(kind, cases).await else { return };
    let Some(params) = super::confirmation::params(run, operation, &thing) else {
        return cases.skip_without(format!(
            "parameters that `{name}` accepts: add them under [params.{name}]",
            name = operation.name
        ));
    };
    let Some(exchange) = run.call(operation, params, cases).await else { return };
    let code = exchange.code().unwrap_or_default();
    if code.starts_with("VALIDATION_") {
        // Calls with invalid parameters never reach the gate.
        return cases.skip_without(format!(
            "parameters that `{}` accepts; it returned {}",
            operation.name,
            exchange.summary()
        ));
    }
    let is_asked = code == "CONFIRMATION_REQUIRED";
    // If introspection gives confirmation as the only reason to hold the call, a permission error is wrong.
    let is_only_confirmed = stated.says_confirmed(operation)
        && stated.permission(operation).is_some_and(|permission| permission == "confirm");
    let is_held = is_asked || (code.starts_with("PERMISSION_") && !is_only_confirmed);
    let is_there = if kind.operation(&run.adapter, Role::Read).is_some() {
        let Some(after) = run.look(&thing, cases).await else { return };
        let after = after.data().and_then(|data| kind.object(data));
        after.and_then(|after| kind.identity(after)).is_some_and(|id| same(&id, &thing.id))
    } else {
        // Without a READ operation, only the reply shows whether the operation ran.
        true
    };
    cases.expect(is_held && is_there, || {
        Finding::of(&exchange, &operation.name).expected(format!(
            "a failure CONFIRMATION_REQUIRED and no change, because the stated level is {}",
            stated.level(operation).unwrap_or_default()
        ))
    });
}

async fn as_stated(run: &Run, cases: &Cases) {
    let Some(asked) = super::confirmation::ask(run, cases).await else { return };
    let stated = DangerLevels::query(run, cases).await;
    let entry = stated.of(&asked.operation.name);
    let confirmed = entry.and_then(|entry| entry.get("requires_confirmation"));
    cases.expect(confirmed != Some(&Value::Bool(false)), || {
        Finding::of(&asked.exchange, &asked.operation.name).expected(
            "no confirmation request, because `introspect` with the query `danger` says \
             `requires_confirmation: false`",
        )
    });
    let named = asked.exchange.failure().and_then(|failure| failure.details.get("danger_level"));
    let Some(named) = named.and_then(Value::as_str) else {
        // The check `confirmation.issued` reports a missing level.
        return cases.skip_without("a confirmation request with a danger level");
    };
    let reported = stated.level(asked.operation);
    let is_described = reported.is_none() && describes(asked.operation, named);
    cases.expect(reported == Some(named) || is_described, || {
        Finding::of(&asked.exchange, &asked.operation.name)
            .expected(format!(
                "the level that introspection states: {}",
                reported.unwrap_or("none")
            ))
            .fix(
                "generate the danger level in introspection from the settings of the confirmation \
                 gate",
            )
    });
}

async fn trust_stated(run: &Run, cases: &Cases) {
    if !run.adapter.documents_query("adapter_info") {
        return cases.not_applicable("`introspect` does not document the query `adapter_info`");
    }
    let query = json!({ "query": "adapter_info" });
    let Some(exchange) = run.introspect(query, cases).await else { return };
    const INFO: Form = Form::Open(&[
        must("name", Form::Word),
        must("version", Form::Word),
        must("trust", Form::Open(&[must("level", TRUST)])),
    ]);
    let data = exchange.data().cloned().unwrap_or_default();
    INFO.check(&data, cases, || Finding::of(&exchange, "introspect adapter_info"));
}
