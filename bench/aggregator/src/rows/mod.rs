//! The measurements of this benchmark.

mod cost;
mod faults;
mod ranking;

use std::time::Instant;

use mcp_aql_bench::table::{Outcome, Row, Table, Target, Unit};

use crate::programs::{Program, answer, query};
use crate::{Result, Setup};

type Measurement = fn(&Setup) -> Result<Outcome>;

/// All measurements except ranking. The name of each is a prefix of its rows' names.
const ALL: &[(&str, Measurement)] =
    &[("memory", cost::memory), ("cost", cost::time), ("faults", faults::run)];

/// Runs all measurements whose name contains `filter`.
///
/// # Errors
///
/// Returns an error if a response is wrong.
pub fn measure(setup: &Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    let mut table = Table::new(setup.rounds, "shared with other processes");
    for count in setup.results {
        let name = format!("rank-{count}");
        if name.contains(filter) {
            report(&name);
            table.add(&name, ranking::run(setup, &name, count))?;
        }
    }
    for (name, run) in ALL {
        if name.contains(filter) {
            report(name);
            table.add(name, run(setup))?;
        }
    }
    Ok(table)
}

/// Runs a query. Returns its duration in nanoseconds and the status of each server.
fn timed_query(aggregator: &mut Program) -> Result<(f64, Vec<String>)> {
    let query = query();
    let clock = Instant::now();
    aggregator.send(&query)?;
    let line = aggregator.receive()?;
    let elapsed = clock.elapsed();
    let (_, statuses) = answer(line)?;
    Ok((elapsed.as_nanos() as f64, statuses))
}

/// Builds a row with a single figure and no baseline.
fn single_row(name: &str, what: String, unit: Unit, ours: Vec<f64>, target: Target) -> Row {
    let turns = mcp_aql_bench::Turns { ours, peer: Vec::new() };
    Row { name: name.to_owned(), what, unit, turns, target }
}

/// Returns the percentile for the share `part`, for example the median for 0.5.
fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
