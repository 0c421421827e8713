//! Measures queries to ten servers with three broken ones: one hangs, one exits on every call, and
//! one responds with 20 MB.

use mcp_aql_bench::table::{Outcome, Target, Unit};

use super::{percentile, single_row, timed_query};
use crate::programs::{Program, configuration};
use crate::{Result, Setup};

/// Number of healthy servers. The broken ones come after them.
const FINE: usize = 7;
const FAULTY: [&str; 3] = ["--call hang", "--call exit", "--call huge:20000000"];
/// Number of consecutive failures that open a circuit breaker.
const FAILURES: usize = 3;
/// Maximum of the 90th percentile while queries wait for the hanging server, in nanoseconds. The
/// aggregator waits three seconds for it.
const MAX_NANOS: f64 = 3.1e9;
/// Maximum of the 90th percentile once the circuit breakers of the broken servers are open, in
/// nanoseconds.
const MAX_OPEN_NANOS: f64 = 50e6;

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let fine: Vec<_> = (0..FINE).map(|seed| format!("--results 10 --fill 1000:{seed}")).collect();
    let scripts = fine.iter().map(String::as_str).chain(FAULTY);
    let configuration = configuration(&setup.server, scripts);
    let (mut first, mut open) = (Vec::new(), Vec::new());
    // Limit the rounds: each starts with three queries of three seconds.
    for _ in 0..setup.rounds.min(7) {
        let mut aggregator = Program::aggregator(&setup.aggregator, &configuration)?;
        for _ in 0..FAILURES {
            let (time, statuses) = ask(&mut aggregator)?;
            let [hangs, dies, large] = &statuses;
            let is_dead = ["exited", "still starting", "failed to start"].contains(&dies.as_str());
            if hangs != "timeout after 3s" || !is_dead || large != "response too large" {
                return Err(format!("other failures: {statuses:?}").into());
            }
            first.push(time);
        }
        for _ in 0..setup.queries / 5 {
            let (time, statuses) = ask(&mut aggregator)?;
            if statuses != ["circuit open"; 3].map(str::to_owned) {
                return Err(format!("other failures: {statuses:?}").into());
            }
            open.push(time);
        }
    }
    let what = |state: &str, count| {
        format!("1 hung, 1 crashing, 1 with 20 MB of 10 servers{state}: P90 of {count} queries")
    };
    let row = |name, state, times: &[f64], limit| {
        let p90 = vec![percentile(times, 0.9)];
        let what = what(state, times.len());
        single_row(name, what, Unit::Nanoseconds, p90, Target::Below(limit))
    };
    Ok(Outcome::Rows(vec![
        row("faults", "", &first, MAX_NANOS),
        row("faults-open", ", breakers open", &open, MAX_OPEN_NANOS),
    ]))
}

/// Runs a query. Returns its duration in nanoseconds and the statuses of the broken servers.
fn ask(aggregator: &mut Program) -> Result<(f64, [String; 3])> {
    let (time, statuses) = timed_query(aggregator)?;
    let (fine, faulty) = statuses.split_at_checked(FINE).ok_or("servers are missing")?;
    if fine != ["ok"; FINE] {
        return Err(format!("servers failed: {statuses:?}").into());
    }
    Ok((time, faulty.to_vec().try_into().map_err(|_| "ten servers")?))
}
