//! What is measured.

use std::process::Command;
use std::time::Instant;

use mcp_aql_aggregator::rank::{Candidate, RankOptions, rank};
use mcp_aql_bench::in_turns;
use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Row, Table, Target, Unit};

use crate::peers::{self, HITS};
use crate::texts::{QUERY, results};
use crate::{Result, Setup};

/// The size of a result.
const BYTES: usize = 2_300;
/// Servers that the results come from.
const SERVERS: usize = 10;
/// What ranking and joining copies may take, by how many results there are.
const GOALS: &[(usize, f64)] = &[(100, 3e6), (10_000, 200e6)];
/// Peers take ten times as long, at least.
const RATIO: f64 = 0.1;
/// What a query may take of memory.
const MEMORY: f64 = 4.0 * 1024.0 * 1024.0;

/// Measures everything whose name contains `filter`.
///
/// # Errors
/// When an answer is wrong.
pub fn measure(setup: &Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    let mut table = Table::new(setup.rounds, "shared with whatever else runs");
    for count in setup.results {
        let name = format!("rank-{count}");
        if name.contains(filter) {
            report(&name);
            table.add(&name, ranking(setup, &name, count))?;
        }
    }
    if "memory".contains(filter) {
        report("memory");
        table.add("memory", memory(setup))?;
    }
    Ok(table)
}

/// Results as ten servers would have given them.
pub fn candidates(texts: &[String]) -> Vec<Candidate<'_>> {
    let places = texts.iter().enumerate();
    places
        .map(|(at, content)| Candidate {
            server: at % SERVERS,
            call: 0,
            position: at / SERVERS,
            content,
        })
        .collect()
}

fn ranking(setup: &Setup, name: &str, count: usize) -> Result<Outcome> {
    let texts = results(count, BYTES);
    let candidates = candidates(&texts);
    let best = count / 2;
    let ours = || {
        timed(best, || {
            let ranked = rank(QUERY, &candidates, &RankOptions::default().max_results(HITS));
            Ok(ranked.hits.iter().map(|hit| hit.candidate).collect())
        })
    };
    // Seconds each, where there are many.
    let rounds = if count > 1_000 { setup.rounds.min(5) } else { setup.rounds };
    let row = |peer: &str, turns| Row {
        name: format!("{name}-{peer}"),
        what: format!("{count} results of 2.3 KB: rank and join copies; {peer} ranks"),
        unit: Unit::Nanoseconds,
        turns,
        target: Target::AtMost(RATIO),
    };
    let mut rows = vec![
        row("bm25", in_turns(rounds, ours, || timed(best, || Ok(peers::bm25(QUERY, &texts))))?),
        row("tantivy", in_turns(rounds, ours, || timed(best, || peers::tantivy(QUERY, &texts)))?),
    ];
    if let Some((_, most)) = GOALS.iter().find(|(results, _)| *results == count) {
        let mut turns = in_turns(rounds, ours, || Ok(0.0))?;
        turns.peer.clear();
        rows.push(Row {
            name: name.to_owned(),
            what: format!("{count} results of 2.3 KB: rank and join copies"),
            unit: Unit::Nanoseconds,
            turns,
            target: Target::Below(*most),
        });
    }
    Ok(Outcome::Rows(rows))
}

/// The time of one answer, whose first hit is known.
fn timed(best: usize, answer: impl FnOnce() -> Result<Vec<usize>>) -> Result<f64> {
    let clock = Instant::now();
    let hits = std::hint::black_box(answer()?);
    let elapsed = clock.elapsed();
    if hits.first() != Some(&best) {
        return Err(format!("{hits:?} should begin with {best}").into());
    }
    Ok(elapsed.as_nanos() as f64)
}

/// A process of its own counts, since counting slows everything that allocates.
fn memory(setup: &Setup) -> Result<Outcome> {
    let peak = || {
        let output = Command::new(&setup.rank_memory).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().parse::<f64>()?)
    };
    let mut turns = in_turns(setup.rounds.min(3), peak, || Ok(0.0))?;
    turns.peer.clear();
    Ok(Outcome::Rows(vec![Row {
        name: "memory".to_owned(),
        what: "memory of a query: 10 servers, 100 results of 1 KB each".to_owned(),
        unit: Unit::Bytes,
        turns,
        target: Target::Below(MEMORY),
    }]))
}
