//! Measures a reported step that all five stages evaluate, against one that is not evaluated.

use mcp_aql::Adapter;
use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::safety_loop::{LoopMode, SafetyLoop};
use mcp_aql::store::MemoryState;
use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Row, Target, Unit};
use mcp_aql_bench::{Result, in_turns, nanos_each_async};
use serde_json::{Map, Value, json};

use crate::Setup;
use crate::adapters::{adapter, arguments, handle, reply, runtime};

/// The maximum time of an evaluation, in nanoseconds.
const MAX_ADDED_NANOS: f64 = 20_000.0;
/// The number of patterns, in three lists.
const PATTERNS: usize = 200;

/// Returns the pattern with this number.
type Pattern = fn(usize) -> String;

/// Typical patterns, which have nothing in common with the reported action.
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

/// Patterns that share their beginning with the reported action and must be matched to the end.
fn alike(number: usize) -> String {
    format!("writing the summary of chapter *{number}_")
}

fn guarded(mode: LoopMode, pattern: Pattern) -> Result<Adapter> {
    let list = |first: usize| (first..PATTERNS).step_by(3).map(pattern);
    adapter(|builder| {
        // Without a store, blocks would be written to a file.
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

pub(crate) fn run(setup: Setup) -> Result<Outcome> {
    Ok(Outcome::Rows(vec![
        row(setup, "step", "nothing like the step", usual)?,
        row(setup, "step-alike", "all begin like the step", alike)?,
    ]))
}

fn row(setup: Setup, name: &str, told: &str, pattern: Pattern) -> Result<Row> {
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
    Ok(Row {
        name: name.to_owned(),
        what: format!("step, {PATTERNS} patterns, {told}; not evaluated"),
        unit: Unit::Nanoseconds,
        turns: in_turns(
            setup.rounds,
            // The score is computed after all patterns were matched.
            || turn(evaluated, "risk "),
            || turn(logged, "nothing is evaluated"),
        )?,
        target: Target::AddsAtMost(MAX_ADDED_NANOS),
    })
}

/// Returns a typical action of an agent, different for each number.
fn step(number: usize) -> Map<String, Value> {
    let hint = format!("writing the summary of chapter {number} into notes/summary-{number}.md");
    arguments(
        "record_execution_step",
        json!({ "element_name": "tidy", "next_action_hint": hint, "outcome": "success" }),
    )
}
