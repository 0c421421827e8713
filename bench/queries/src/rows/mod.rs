//! The measurements of queries.

mod fields;
mod filter;
mod group;
mod pages;
mod pushdown;

use std::time::Instant;

use mcp_aql::query::CursorKey;
use mcp_aql_bench::in_turns;
use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Row, Table, Target, Unit};

use crate::sales::{Sale, sales};
use crate::{Result, Setup};

/// The data shared by all measurements in memory.
#[derive(Debug)]
pub(crate) struct Large {
    sales: Vec<Sale>,
    key: CursorKey,
}

type Measurement = fn(&Setup, &Large) -> Result<Outcome>;

/// All measurements. The name of each is a prefix of its rows' names.
const ALL: &[(&str, Measurement)] = &[
    ("filter", filter::run),
    ("group", group::run),
    ("top", pages::top),
    ("memory", pages::memory),
    ("fields", fields::run),
    ("push-down-sqlite", pushdown::sqlite),
    ("push-down-postgres", pushdown::postgres),
];

/// Runs every measurement whose name contains `filter`.
///
/// # Errors
///
/// Returns an error if the compared results differ, or if one is missing.
pub fn measure(setup: &Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    let mut table = Table::new(setup.rounds, "shared with other processes");
    let large = Large { sales: sales(setup.rows), key: CursorKey::random() };
    for (name, run) in ALL {
        if name.contains(filter) {
            report(name);
            table.add(name, run(setup, &large))?;
        }
    }
    Ok(table)
}

/// Measures the time of one result, in nanoseconds.
fn nanos<T>(answer: impl FnOnce() -> Result<T>) -> Result<f64> {
    let clock = Instant::now();
    let answer = std::hint::black_box(answer()?);
    let elapsed = clock.elapsed();
    drop(answer);
    Ok(elapsed.as_nanos() as f64)
}

/// Compares two ways to compute a result.
fn compared<T>(
    setup: &Setup,
    name: &str,
    what: &str,
    target: f64,
    ours: impl Fn() -> Result<T>,
    peer: impl Fn() -> Result<T>,
) -> Result<Row> {
    Ok(Row {
        name: name.to_owned(),
        what: what.to_owned(),
        unit: Unit::Nanoseconds,
        turns: in_turns(setup.rounds, || nanos(&ours), || nanos(&peer))?,
        target: Target::AtMost(target),
    })
}

/// Returns an error if two results differ.
fn same<T: PartialEq + std::fmt::Debug>(ours: &T, peer: &T) -> Result {
    if ours == peer { Ok(()) } else { Err(format!("{ours:?} is not {peer:?}").into()) }
}
