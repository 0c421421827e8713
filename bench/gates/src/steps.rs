//! A reported step with all five stages, beside one that is not evaluated.

use mcp_aql::Adapter;
use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::{LoopMode, SafetyLoop};
use mcp_aql::store::MemoryStore;
use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Row, Target, Unit};
use mcp_aql_bench::{Result, in_turns, nanos_each_async};
use serde_json::{Map, Value, json};

use crate::Setup;
use crate::adapters::{adapter, arguments, handle, reply, runtime};

/// What an evaluation may take.
const MOST: f64 = 20_000.0;
/// How many patterns there are, in three lists.
const PATTERNS: usize = 200;

/// A pattern of this number.
type Pattern = fn(usize) -> String;

/// As people write them. None has anything in common with what is reported.
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

/// Each begins as what is reported does, and has to be tried to its end.
fn alike(number: usize) -> String {
    format!("writing the summary of chapter *{number}_")
}

fn guarded(mode: LoopMode, pattern: Pattern) -> Result<Adapter> {
    let list = |first: usize| (first..PATTERNS).step_by(3).map(pattern);
    adapter(|builder| {
        // Else blocks would be kept in a file.
        builder.store(MemoryStore::default()).safety_loop(
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
            // The score is taken when all patterns were tried.
            || turn(evaluated, "risk "),
            || turn(logged, "nothing is evaluated"),
        )?,
        target: Target::AddsAtMost(MOST),
    })
}

/// What an agent reports: a usual sentence, each time another.
fn step(number: usize) -> Map<String, Value> {
    let hint = format!("writing the summary of chapter {number} into notes/summary-{number}.md");
    arguments(
        "record_execution_step",
        json!({ "element_name": "tidy", "next_action_hint": hint, "outcome": "success" }),
    )
}
