//! Checks of the safety loop: agents report their steps, and people approve them.

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::adapter::gaps::states_protocol;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::forms::{Form, INSTANT, may, must};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "safety_loop.stated" => Learned(stated), ["REQ-LOOP-03", "REQ-LOOP-02"],
        "`_protocol.capabilities` states the mode of the safety loop",
        expected: "enforcing, monitoring, logging or disabled",
        fix: "state the mode: agents need to know whether they are monitored";
    Must 2 "safety_loop.complete" => Learned(complete), ["REQ-LOOP-04"],
        "An adapter with the safety loop has all its operations",
        fix: "provide all operations of the loop: each of them is needed to control an agent";
    Must 2 "safety_loop.step_parameters" => Learned(step_parameters), ["REQ-LOOP-07"],
        "`record_execution_step` requires the agent and its next action",
        fix: "require the agent and its next action before the action";
    Must 2 "safety_loop.approval" => Changes(approval), ["REQ-LOOP-05", "REQ-LOOP-09"],
        "An agent cannot continue until a person approves its start",
        fix: "keep an execution pending until a person approves its start";
    Must 2 "safety_loop.directive_form" => Every(directive_form),
        ["REQ-AUT-01", "REQ-AUT-02", "REQ-AUT-03", "REQ-AUT-12", "REQ-AUT-13"],
        "The reply to each step has a directive in the protocol's form",
        expected: "a directive in `data` of this form: {faults}",
        fix: "return for each step whether the agent may continue, and why";
    Must 2 "safety_loop.wrong_code" => Alone(wrong_code), ["REQ-OOB-06", "REQ-AUT-15"],
        "Unknown codes are rejected",
        expected: "a failure, because this code was never issued",
        fix: "compare the code with the issued one, and invalidate the challenge if it differs";
    Should 2 "safety_loop.no_echo" => Every(no_echo), ["REQ-OOB-05", "REQ-TOK-15"],
        "Replies do not repeat submitted codes",
        expected: "a reply without the submitted code",
        fix: "do not include codes in text that models read";
];

const OPERATIONS: [&str; 6] = [
    "execute_agent",
    "record_execution_step",
    "complete_execution",
    "abort_execution",
    "confirm_operation",
    "verify_challenge",
];
const MODES: [&str; 4] = ["enforcing", "monitoring", "logging", "disabled"];
/// A code that the adapter has not issued.
const CODE: &str = "conf_code-of-nobody-0123456789abcdefghijk";
const CHALLENGE: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";

/// Returns `true` if the adapter has a safety loop. Otherwise marks the check as not applicable.
fn has_loop(run: &Run, cases: &Cases) -> bool {
    let mode = mode(run);
    let has_any = OPERATIONS.iter().any(|name| run.adapter.operation(name).is_some());
    let is_there = has_any || mode.is_some_and(|mode| mode != "disabled");
    if !is_there {
        cases.not_applicable("the adapter has no safety loop");
    }
    is_there
}

fn mode(run: &Run) -> Option<&str> {
    run.adapter.protocol().pointer("/capabilities/execution_safety_loop")?.as_str()
}

fn stated(run: &Run, cases: &Cases) {
    if !has_loop(run, cases) || !states_protocol(&run.adapter, cases) {
        return;
    }
    cases.expect(mode(run).is_some_and(|mode| MODES.contains(&mode)), || {
        Finding::shown(
            "_protocol.capabilities.execution_safety_loop",
            run.adapter.protocol().clone(),
        )
    });
}

fn complete(run: &Run, cases: &Cases) {
    if !has_loop(run, cases) {
        return;
    }
    for name in OPERATIONS {
        cases.expect(run.adapter.operation(name).is_some(), || {
            let there = run.adapter.operations.iter().map(|operation| operation.name.as_str());
            Finding::shown(name, there.collect::<Vec<_>>())
                .expected(format!("the operation `{name}`"))
        });
    }
}

fn step_parameters(run: &Run, cases: &Cases) {
    if !has_loop(run, cases) {
        return;
    }
    // The check `safety_loop.complete` reports a missing operation.
    let Some(step) = run.adapter.operation("record_execution_step") else { return };
    for names in [&["element_name"][..], &["next_action_hint", "nextActionHint"][..]] {
        let found = names.iter().find_map(|name| step.parameter(name));
        cases.expect(found.is_some_and(|found| found.required), || {
            Finding::shown(
                "record_execution_step",
                step.details_as_sent().get("parameters").cloned().unwrap_or_default(),
            )
            .expected(format!("a required parameter `{}`", names.join("` or `")))
        });
    }
}

/// Calls an operation of the safety loop if it exists.
async fn call(run: &Run, name: &str, params: Value, cases: &Cases) -> Option<Exchange> {
    let operation = run.adapter.operation(name)?;
    let mut all = Map::new();
    for (name, value) in params.as_object().into_iter().flatten() {
        // The protocol uses both spellings.
        let documented = match name.as_str() {
            "next_action_hint" if operation.parameter(name).is_none() => "nextActionHint",
            name => name,
        };
        all.insert(documented.to_owned(), value.clone());
    }
    run.call(operation, all, cases).await
}

/// Returns the name of a new agent.
fn agent(run: &Run, what: &str) -> String {
    let session =
        run.adapter.protocol().get("session_id").and_then(Value::as_str).unwrap_or_default();
    format!("conformance_{what}_{}_{session}", run.resources().next_number())
}

/// If a call failed for another reason than the missing approval, skips the case and returns `true`.
fn skips_other(exchange: &Exchange, cases: &Cases) -> bool {
    let Some(code) = exchange.code() else { return false };
    let is_held = code == "CONFIRMATION_REQUIRED"
        || ["PERMISSION_", "TOKEN_"].iter().any(|family| code.starts_with(family));
    if !is_held {
        cases.skip_without(format!(
            "a call of `{}` that fails for a missing confirmation; it returned {}",
            exchange.operation(),
            exchange.summary()
        ));
    }
    !is_held
}

/// Returns the directive in the reply to a step: `data` itself or a member of it.
fn directive(data: &Value) -> Option<&Value> {
    let is_one = |value: &Value| value.get("continue").is_some() || value.get("factors").is_some();
    let named = data.get("autonomy").or_else(|| data.get("directive"));
    named
        .or_else(|| Some(data).filter(|data| is_one(data)))
        .or_else(|| data.as_object()?.values().find(|member| is_one(member)))
}

async fn approval(run: &Run, cases: &Cases) {
    if !has_loop(run, cases) {
        return;
    }
    if mode(run) != Some("enforcing") {
        return cases.not_applicable("the mode of the safety loop is not enforcing");
    }
    let agent = agent(run, "approval");
    let Some(begun) = call(run, "execute_agent", json!({ "element_name": agent }), cases).await
    else {
        return;
    };
    let step = json!({ "element_name": agent, "next_action_hint": "list_files in a folder" });
    let stepped = call(run, "record_execution_step", step, cases).await;
    let ended = call(run, "abort_execution", json!({ "element_name": agent }), cases).await;
    drop(ended);
    if skips_other(&begun, cases) {
        return;
    }
    let is_running =
        begun.data().and_then(|data| data.get("status")).is_some_and(|status| status == "running");
    cases.expect(!(begun.succeeded() && is_running), || {
        Finding::of(&begun, "execute_agent").expected(
            "CONFIRMATION_REQUIRED or a pending execution, because the start is not approved",
        )
    });
    let Some(stepped) = stepped else { return };
    if skips_other(&stepped, cases) {
        return;
    }
    let directive = stepped.data().and_then(directive);
    let goes_on = directive.and_then(|directive| directive.get("continue"));
    cases.expect(stepped.failure().is_some() || goes_on == Some(&Value::Bool(false)), || {
        Finding::of(&stepped, "record_execution_step")
            .expected(
                "a failure or a directive with `continue` false, because the start is not approved",
            )
            .fix("do not let an agent continue before its start is approved")
    });
}

const NOTIFICATION: Form = Form::Open(&[
    must(
        "type",
        Form::OneOf(&["permission_pending", "autonomy_pause", "danger_zone", "status", "error"]),
    ),
    must("message", Form::Word),
    must("timestamp", INSTANT),
    may("metadata", Form::Open(&[])),
]);

const DIRECTIVE: Form = Form::Open(&[
    must("continue", Form::Flag),
    must("factors", Form::List(&Form::Text)),
    may("stopped", Form::Flag),
    may("reason", Form::Word),
    may("stepsRemaining", Form::Whole(0)),
    may("nextStepRisk", Form::OneOf(&["advisory", "confirm", "verify", "danger_zone"])),
    may("notifications", Form::List(&NOTIFICATION)),
]);

fn directive_form(run: &Run, exchange: &Exchange, cases: &Cases) {
    if !has_loop(run, cases) || exchange.operation() != "record_execution_step" {
        return;
    }
    let Some(data) = exchange.data() else { return };
    let directive = directive(data).cloned().unwrap_or_default();
    DIRECTIVE.check(&directive, cases, || Finding::of(exchange, "record_execution_step"));
}

/// Submits unknown codes. The calls are few and late, because adapters block frequent attempts.
async fn tries(run: &Run, cases: &Cases) -> Vec<Exchange> {
    let mut tried = Vec::new();
    let confirmed = json!({ "confirmation_token": CODE });
    tried.extend(call(run, "confirm_operation", confirmed, cases).await);
    let verified = json!({ "challenge_id": CHALLENGE, "code": CODE });
    tried.extend(call(run, "verify_challenge", verified, cases).await);
    tried
}

async fn wrong_code(run: &Run, cases: &Cases) {
    if !has_loop(run, cases) {
        return;
    }
    for exchange in tries(run, cases).await {
        if skips_other(&exchange, cases) {
            continue;
        }
        cases.expect(exchange.failure().is_some(), || Finding::of(&exchange, exchange.operation()));
    }
}

fn no_echo(run: &Run, exchange: &Exchange, cases: &Cases) {
    /// Minimum length of a tested code in bytes. Shorter codes may occur in any message.
    const MIN_CODE_BYTES: usize = 12;
    if !has_loop(run, cases)
        || !matches!(exchange.operation(), "confirm_operation" | "verify_challenge")
        || exchange.failure().is_none()
    {
        return;
    }
    let given = |name: &str| exchange.arguments.get("params")?.get(name)?.as_str();
    let Some(code) = given("code").or_else(|| given("confirmation_token")) else { return };
    if code.len() < MIN_CODE_BYTES {
        return;
    }
    cases.expect(!exchange.received().to_string().contains(code), || {
        Finding::of(exchange, exchange.operation())
    });
}
