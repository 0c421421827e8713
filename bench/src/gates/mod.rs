//! Measures the cost of gates: `cargo bench -p mcp-aql-bench --features gates --bench gates`.
//!
//! Each row runs the same call in two adapters in turn, one with gates and one without. Calls run in process, from the
//! arguments to the finished reply, or from the HTTP request to its response.

mod adapters;
mod authentication;
mod calls;
mod confirmation;
mod steps;

use crate::Result;
use crate::table::{Measurement, Table};

/// The size of the measurements.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Number of rounds of each comparison.
    pub rounds: usize,
    /// Number of calls per turn.
    pub calls: usize,
    /// Number of reported steps, or of confirmations, per turn.
    pub steps: usize,
}

/// All measurements.
const ALL: &[Measurement<Setup>] = &[
    ("gate", calls::gates),
    ("step", steps::run),
    ("limit", calls::limits),
    ("confirmation", confirmation::run),
    ("authentication", authentication::run),
];

/// Runs the measurements whose name contains `filter`.
///
/// # Errors
///
/// Returns an error if a reply is wrong.
pub fn measure(setup: &Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    Table::new(setup.rounds, "shared with other processes").measure(setup, ALL, filter, report)
}
