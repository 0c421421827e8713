//! Measures queries: `cargo bench -p mcp-aql-bench --features queries --bench queries`.
//!
//! Each comparison computes the same result twice: with a query, and in another way. Both ways take turns in one run.
//! Their results are compared once before the measurement.

mod databases;
mod fields;
mod filter;
mod group;
mod loops;
mod pages;
mod pushdown;

pub mod sales;

use std::path::PathBuf;
use std::time::Instant;

use mcp_aql::query::CursorKey;

use crate::table::{Measurement, Row, Table, Target};
use crate::{Result, in_turns};
use sales::{Sale, sales};

/// The size of the measurements, and what they share.
#[derive(Debug)]
pub struct Setup {
    /// Number of rounds of each comparison.
    rounds: usize,
    /// The large collection.
    sales: Vec<Sale>,
    key: CursorKey,
    /// Number of the deep page. It is compared with the first page.
    deep_page: usize,
    /// Path of the program that prints the memory of a page.
    page_memory: PathBuf,
}

impl Setup {
    /// Generates a collection of `rows` sales. `page_memory` is the path of the program.
    pub fn new(rounds: usize, rows: usize, deep_page: usize, page_memory: &str) -> Self {
        let (sales, key) = (sales(rows), CursorKey::random());
        Self { rounds, sales, key, deep_page, page_memory: page_memory.into() }
    }
}

/// All measurements.
const ALL: &[Measurement<Setup>] = &[
    ("filter", filter::run),
    ("group", group::run),
    ("top", pages::top),
    ("memory", pages::memory),
    ("fields", fields::run),
    ("push-down-sqlite", pushdown::sqlite),
    ("push-down-postgres", pushdown::postgres),
];

/// Runs the measurements whose name contains `filter`.
///
/// # Errors
///
/// Returns an error if the compared results differ, or if one is missing.
pub fn measure(setup: &Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    Table::new(setup.rounds, "shared with other processes").measure(setup, ALL, filter, report)
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
    let turns = in_turns(setup.rounds, || nanos(&ours), || nanos(&peer))?;
    Ok(Row::of_times(name, what, turns, Target::AtMost(target)))
}

/// Returns an error if two results differ.
fn same<T: PartialEq + std::fmt::Debug>(ours: &T, peer: &T) -> Result {
    if ours == peer { Ok(()) } else { Err(format!("{ours:?} is not {peer:?}").into()) }
}
