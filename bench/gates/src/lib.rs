//! Measures the cost of gates: `cargo bench -p mcp-aql-gates-bench`.
//!
//! Each row runs the same call in two adapters in turn, one with gates and one without. Calls run in process, from the
//! arguments to the finished reply, or from the HTTP request to its response.

mod adapters;
mod authentication;
mod calls;
mod confirmation;
mod steps;

use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::Table;
pub use mcp_aql_bench::{Error, Result};

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

type Measurement = fn(Setup) -> Result<Outcome>;

/// All measurements. The name of each is a prefix of its rows' names.
const ALL: &[(&str, Measurement)] = &[
    ("gate", calls::gates),
    ("step", steps::run),
    ("limit", calls::limits),
    ("confirmation", confirmation::run),
    ("authentication", authentication::run),
];

/// Runs every measurement whose name contains `filter`.
///
/// # Errors
///
/// Returns an error if a reply is wrong.
pub fn measure(setup: Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    let mut table = Table::new(setup.rounds, "shared with other processes");
    for (name, run) in ALL {
        if name.contains(filter) {
            report(name);
            table.add(name, run(setup))?;
        }
    }
    Ok(table)
}
