//! Measures the time to rank results and to join copies.

use std::time::Instant;

use mcp_aql_aggregator::rank::{Candidate, RankOptions, rank};
use mcp_aql_bench::in_turns;
use mcp_aql_bench::table::{Outcome, Row, Target};

use crate::peers::{self, HITS};
use crate::texts::{QUERY, results};
use crate::{Result, Setup};

/// Size of a result, in bytes.
const BYTES: usize = 2_300;
/// Number of servers that the results come from.
const SERVERS: usize = 10;
/// Maximum times for ranking and joining copies, in nanoseconds, by number of results.
const GOALS: &[(usize, f64)] = &[(100, 3e6), (10_000, 200e6)];
/// Maximum ratio to another engine's time: the others must take at least ten times as long.
const RATIO: f64 = 0.1;

/// Returns the results as candidates from ten servers.
fn candidates(texts: &[String]) -> Vec<Candidate<'_>> {
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

pub(super) fn run(setup: &Setup, name: &str, count: usize) -> Result<Outcome> {
    let texts = results(count, BYTES);
    let candidates = candidates(&texts);
    let best = count / 2;
    let ours = || {
        timed(best, || {
            let ranked = rank(QUERY, &candidates, &RankOptions::default().max_results(HITS));
            Ok(ranked.hits.iter().map(|hit| hit.candidate).collect())
        })
    };
    // Limit the rounds, because a round with many results takes seconds.
    let rounds = if count > 1_000 { setup.rounds.min(5) } else { setup.rounds };
    let row = |peer: &str, turns| {
        Row::of_times(
            format!("{name}-{peer}"),
            format!("{count} results of 2.3 KB: rank and join copies; {peer} ranks"),
            turns,
            Target::AtMost(RATIO),
        )
    };
    let mut rows = vec![
        row("bm25", in_turns(rounds, ours, || timed(best, || Ok(peers::bm25(QUERY, &texts))))?),
        row("tantivy", in_turns(rounds, ours, || timed(best, || peers::tantivy(QUERY, &texts)))?),
    ];
    if let Some((_, most)) = GOALS.iter().find(|(results, _)| *results == count) {
        let mut turns = in_turns(rounds, ours, || Ok(0.0))?;
        turns.peer.clear();
        rows.push(Row::of_times(
            name,
            format!("{count} results of 2.3 KB: rank and join copies"),
            turns,
            Target::Below(*most),
        ));
    }
    Ok(Outcome::Rows(rows))
}

/// Measures one search. Returns an error if its first hit is not `best`.
fn timed(best: usize, answer: impl FnOnce() -> Result<Vec<usize>>) -> Result<f64> {
    let clock = Instant::now();
    let hits = std::hint::black_box(answer()?);
    let elapsed = clock.elapsed();
    if hits.first() != Some(&best) {
        return Err(format!("{hits:?} should begin with {best}").into());
    }
    Ok(elapsed.as_nanos() as f64)
}
