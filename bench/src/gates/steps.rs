//! Measures a step report that passes all five stages of evaluation, compared with an unevaluated one.

use mcp_aql::Adapter;
use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::safety_loop::{LoopMode, SafetyLoop};
use mcp_aql::store::MemoryState;
use serde_json::{Map, Value, json};

use super::Setup;
use super::adapters::{adapter, arguments, handle, reply};
use crate::measure::runtime;
use crate::table::{Outcome, Row, Target};
use crate::{Result, in_turns, nanos_each_async};

/// Maximum time of an evaluation, in nanoseconds.
const MAX_ADDED_NANOS: f64 = 20_000.0;
/// Total number of patterns in the three lists.
const PATTERNS: usize = 200;

/// Returns the pattern with a number.
type Pattern = fn(usize) -> String;

/// Returns a typical pattern. It has nothing in common with the reported action.
fn usual(number: usize) -> String {
    match number % 6 {
        0 => format!("drop_table_{number}*"),
        1 => format!("*force_{number}*"),
        2 => format!("deploy_{number} *"),
        3 => format!("git push {number}*"),
        4 => format!("rm -rf /srv/{number}*"),
        _ => format!("read_{{file,folder}}_{number}"),
    }
}

/// Returns a pattern that begins like the reported action, so that matching must go on to the end.
fn alike(number: usize) -> String {
    format!("writing the summary of chapter *{number}_")
}

fn guarded(mode: LoopMode, pattern: Pattern) -> Result<Adapter> {
    let list = |first: usize| (first..PATTERNS).step_by(3).map(pattern);
    adapter(|builder| {
        // Use a store in memory, because by default blocks are written to a file.
        builder.store(MemoryState::default()).safety_loop(
            SafetyLoop::new()
                .mode(mode)
                .deny(list(0))
                .requires_approval(list(1))
                .auto_approve(list(2))
                .max_autonomous_steps(u32::MAX)
                .channel(MemoryChannel::default()),
        )
    })
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    Ok(Outcome::Rows(vec![
        row(setup, "step", "nothing like the step", usual)?,
        row(setup, "step-alike", "all begin like the step", alike)?,
    ]))
}

fn row(setup: &Setup, name: &str, told: &str, pattern: Pattern) -> Result<Row> {
    let runtime = runtime()?;
    let adapters = [guarded(LoopMode::Monitoring, pattern)?, guarded(LoopMode::Logging, pattern)?];
    for adapter in &adapters {
        let begin = arguments("execute_agent", json!({ "element_name": "tidy" }));
        let begun = reply(&runtime, adapter, begin)?;
        if begun.pointer("/data/status").and_then(Value::as_str) != Some("running") {
            return Err(format!("the agent does not run: {begun}").into());
        }
    }
    let [evaluated, logged] = &adapters;
    let turn = |adapter: &Adapter, proof: &'static str| {
        nanos_each_async(
            &runtime,
            setup.steps,
            step,
            |arguments| handle(adapter, arguments),
            |reply| reply.text.contains("\"continue\":true") && reply.text.contains(proof),
        )
    };
    Ok(Row::of_times(
        name,
        format!("step, {PATTERNS} patterns, {told}; not evaluated"),
        in_turns(
            setup.rounds,
            // The reply only contains the risk score if all patterns were matched.
            || turn(evaluated, "risk "),
            || turn(logged, "nothing is evaluated"),
        )?,
        Target::AddsAtMost(MAX_ADDED_NANOS),
    ))
}

/// Builds the report of a typical action. Each number yields another action.
fn step(number: usize) -> Map<String, Value> {
    let hint = format!("writing the summary of chapter {number} into notes/summary-{number}.md");
    arguments(
        "record_execution_step",
        json!({ "element_name": "tidy", "next_action_hint": hint, "outcome": "success" }),
    )
}
