//! Measures the cost of a query: the time that the aggregator adds to the slowest of ten warm servers,
//! and its peak memory.
//!
//! The baseline of the time is a client that writes prepared lines to the same ten servers and waits
//! for all responses. The memory is measured from the request line to the reply line.

use std::process::Command;
use std::time::Instant;

use mcp_aql_bench::Turns;
use mcp_aql_bench::table::{Outcome, Row, Target, Unit};

use super::{percentile, single_row, timed_query};
use crate::programs::{Program, configuration, search};
use crate::{Result, Setup};

const SERVERS: usize = 10;
/// Maximum of the 95th percentile of the added time, in nanoseconds.
const MAX_ADDED_NANOS: f64 = 5e6;

/// Maximum peak memory of a query, in bytes.
const MAX_PEAK_BYTES: f64 = 4.0 * 1024.0 * 1024.0;

pub(super) fn time(setup: &Setup) -> Result<Outcome> {
    let mut rows = warm(setup, "cost", "10 results of 1 KB each", |seed| {
        format!("--results 10 --fill 1000:{seed}")
    })?;
    // The slow server hides the time of the other nine, because they respond long before it.
    rows.extend(warm(setup, "cost-slow", "the same, one of them after 30 ms", |seed| {
        let slow = if seed == 0 { "--call slow:30" } else { "" };
        format!("--results 10 --fill 1000:{seed} {slow}")
    })?);
    Ok(Outcome::Rows(rows))
}

fn warm(
    setup: &Setup,
    name: &str,
    what: &str,
    script: impl Fn(usize) -> String,
) -> Result<Vec<Row>> {
    let scripts: Vec<_> = (0..SERVERS).map(script).collect();
    let configuration = configuration(&setup.server, scripts.iter().map(String::as_str));
    let mut aggregator = Program::aggregator(&setup.aggregator, &configuration)?;
    let servers = scripts.iter().map(|script| Program::server(&setup.server, script));
    let mut servers = servers.collect::<Result<Vec<_>>>()?;
    let mut ours = || ask(&mut aggregator);
    let mut peer = || ask_all(&mut servers);
    for _ in 0..3 {
        ours()?;
        peer()?;
    }
    let (mut turns, mut added) = (Turns::default(), Vec::new());
    for at in 0..setup.queries {
        let (mine, theirs);
        if at % 2 == 0 {
            mine = ours()?;
            theirs = peer()?;
        } else {
            theirs = peer()?;
            mine = ours()?;
        }
        turns.ours.push(mine);
        turns.peer.push(theirs);
        added.push(mine - theirs);
    }
    let p95 = vec![percentile(&added, 0.95)];
    let added = format!("time that a query adds to this, P95 of {} queries", setup.queries);
    Ok(vec![
        Row::of_times(
            format!("{name}-query"),
            format!("a query to 10 warm servers, {what}; the slowest of them"),
            turns,
            Target::None,
        ),
        single_row(name, added, Unit::Nanoseconds, p95, Target::Below(MAX_ADDED_NANOS)),
    ])
}

fn ask(aggregator: &mut Program) -> Result<f64> {
    let (time, statuses) = timed_query(aggregator)?;
    if statuses != ["ok"; SERVERS] {
        return Err(format!("servers failed: {statuses:?}").into());
    }
    Ok(time)
}

fn ask_all(servers: &mut [Program]) -> Result<f64> {
    let search = search();
    let clock = Instant::now();
    for server in &mut *servers {
        server.send(&search)?;
    }
    let mut bytes = 0;
    for server in &mut *servers {
        bytes += server.receive()?.len();
    }
    let elapsed = clock.elapsed();
    if bytes < SERVERS * 10_000 {
        return Err(format!("{bytes} bytes are too few").into());
    }
    Ok(elapsed.as_nanos() as f64)
}

/// Measures the peak in a separate process, because counting slows down every allocation.
fn peak_bytes(setup: &Setup) -> Result<f64> {
    let output = Command::new(&setup.query_memory).arg(&setup.server).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

pub(super) fn memory(setup: &Setup) -> Result<Outcome> {
    let what = "peak memory of a query: 10 servers, 100 results of 1 KB each".to_owned();
    let peaks = (0..setup.rounds.min(5)).map(|_| peak_bytes(setup)).collect::<Result<Vec<_>>>()?;
    Ok(Outcome::Rows(vec![single_row(
        "memory",
        what,
        Unit::Bytes,
        peaks,
        Target::Below(MAX_PEAK_BYTES),
    )]))
}
