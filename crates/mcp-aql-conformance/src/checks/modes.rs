//! Checks of the endpoint modes: semantic mode with one tool per family, and single mode with one tool.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Check, checks};
use crate::adapter::gaps::states_protocol;
use crate::adapter::{Adapter, Operation};
use crate::cases::{Cases, Finding, Skip};
use crate::category::Mode;
use crate::finding::listed;
use crate::learn::LearnError;
use crate::run::RunResults;
use crate::settings::Settings;
use crate::wire::NoResponse;

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "modes.both" => Modes(both), ["REQ-CNF-02", "REQ-EPT-01"],
        "Both endpoint modes are available",
        expected: "an adapter that serves both modes, as configured";
    Must 2 "modes.same_operations" => Modes(same_operations), ["REQ-EPT-07", "REQ-EPT-15"],
        "Both modes have the same operations, with the same parameters and permissions",
        expected: "the same in both modes",
        fix: "build both modes from one table of operations; only the tools differ";
    Should 2 "modes.stated" => Modes(stated), ["REQ-INT-06"],
        "`_protocol.mode` is the mode of the tools",
        fix: "state the active mode, not the default one";
    Should 2 "modes.env" => Modes(env), ["REQ-EPT-10"],
        "MCP_AQL_ENDPOINT_MODE selects the mode",
        fix: "read the variable when the adapter starts";
    Should 2 "modes.default" => Modes(default), ["REQ-EPT-12"],
        "Without configuration, the mode is semantic",
        expected: "a tool for each family of operations",
        fix: "serve semantic mode by default";
];

/// The environment variable that selects the mode.
const VARIABLE: &str = "MCP_AQL_ENDPOINT_MODE";

/// Returns the adapter as learned in this mode.
fn seen(whole: &RunResults, mode: Mode) -> Option<&Adapter> {
    let mut adapters = whole.surfaces.iter().map(|surface| &surface.adapter);
    adapters.find(|adapter| adapter.mode == mode)
}

/// Returns a mode that could not be learned.
fn unseen(whole: &RunResults) -> Option<Mode> {
    [Mode::Semantic, Mode::Single].into_iter().find(|mode| seen(whole, *mode).is_none())
}

fn no_way_to(mode: Mode) -> Skip {
    Skip::NoFixture(format!("{mode} mode: configure how to reach it under [modes.{mode}]"))
}

/// Returns the reasons why modes could not be learned.
fn reasons(whole: &RunResults) -> Vec<String> {
    whole.unlearned.iter().map(|(_, why)| why.to_string()).collect()
}

/// Returns `true` if a mode was not learned because the time limit was reached.
fn is_late(why: &LearnError) -> bool {
    matches!(why, LearnError::NoResponse(NoResponse::TimedOut(_) | NoResponse::SlowStart(_)))
}

fn both(whole: &RunResults, _: &Settings, cases: &Cases) {
    let Some(mode) = unseen(whole) else { return cases.pass() };
    if whole.unlearned.is_empty() {
        return cases.skip(no_way_to(mode));
    }
    if let Some((_, why)) = whole.unlearned.iter().find(|(_, why)| is_late(why)) {
        return cases.skip(Skip::CutShort(why.to_string()));
    }
    cases.fail(Finding::shown(format!("{mode} mode"), reasons(whole)).fix(format!(
        "read {VARIABLE} when the adapter starts, and register the tools of that mode"
    )));
}

/// Returns the parts of an operation that must not depend on the mode.
fn lasting(operation: &Operation) -> Value {
    let member = |name: &str| {
        let mut value = operation.details().get(name).cloned().unwrap_or_default();
        for part in value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            // The description may name the tools to call.
            part.remove("description");
        }
        value
    };
    json!({
        "semantic_category": member("semantic_category"),
        "permissions": member("permissions"),
        "parameters": member("parameters"),
        "returns": member("returns"),
    })
}

fn same_operations(whole: &RunResults, _: &Settings, cases: &Cases) {
    let (Some(semantic), Some(single)) = (seen(whole, Mode::Semantic), seen(whole, Mode::Single))
    else {
        return cases.skip(no_way_to(unseen(whole).unwrap_or(Mode::Single)));
    };
    let names: BTreeSet<_> = [semantic, single]
        .iter()
        .flat_map(|adapter| adapter.operations.iter().map(|operation| operation.name.as_str()))
        .collect();
    for name in names {
        let here = semantic.operation(name).map(lasting);
        let there = single.operation(name).map(lasting);
        cases.expect(here == there, || {
            Finding::shown(name, json!({ "semantic": here, "single": there }))
        });
    }
}

fn stated(whole: &RunResults, _: &Settings, cases: &Cases) {
    for surface in &whole.surfaces {
        let adapter = &surface.adapter;
        if !states_protocol(adapter, cases) {
            continue;
        }
        let Some(stated) = adapter.protocol().get("mode") else {
            cases.not_applicable("`_protocol` does not state the mode");
            continue;
        };
        let is = if adapter.serves_all { Mode::All } else { adapter.mode };
        cases.expect(stated == is.as_str(), || {
            Finding::shown("_protocol.mode", stated.clone()).expected(format!(
                "{is}, according to the tools {}",
                listed(adapter.tools.iter().map(|tool| &tool.name))
            ))
        });
    }
}

fn env(whole: &RunResults, settings: &Settings, cases: &Cases) {
    // A mode configured under `modes` has its own target and is not selected by the variable.
    let is_by_env =
        |asked: &Option<Mode>| asked.is_some_and(|mode| !settings.file.modes.contains_key(&mode));
    for surface in whole.surfaces.iter().filter(|surface| is_by_env(&surface.asked)) {
        cases.expect(surface.asked == Some(surface.adapter.mode), || {
            Finding::shown(VARIABLE, surface.adapter.mode.as_str())
                .expected("the mode that the variable names")
        });
    }
    for (asked, why) in whole.unlearned.iter().filter(|(asked, _)| is_by_env(asked)) {
        let Some(asked) = asked else { continue };
        if is_late(why) {
            cases.skip(Skip::CutShort(why.to_string()));
            continue;
        }
        cases.fail(
            Finding::shown(format!("{VARIABLE}={asked}"), why.to_string())
                .expected(format!("tools of {asked} mode"))
                .fix(
                    "read the variable when the adapter starts; its values are semantic, single \
                     and all",
                ),
        );
    }
    let asked = whole.surfaces.iter().map(|surface| &surface.asked);
    if !asked.chain(whole.unlearned.iter().map(|(asked, _)| asked)).any(is_by_env) {
        cases.not_applicable("the variable was not needed to reach both modes");
    }
}

fn default(whole: &RunResults, settings: &Settings, cases: &Cases) {
    let is_configured =
        settings.file.env.contains_key(VARIABLE) || std::env::var_os(VARIABLE).is_some();
    if is_configured {
        return cases.not_applicable(format!("{VARIABLE} is set"));
    }
    let Some(first) = whole.surfaces.iter().find(|surface| surface.asked.is_none()) else { return };
    let adapter = &first.adapter;
    cases.expect(adapter.mode == Mode::Semantic && !adapter.serves_all, || {
        Finding::shown(
            "the adapter as it was started",
            adapter.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        )
    });
}
