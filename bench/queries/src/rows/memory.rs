//! Measures the peak memory of a page query, from the request's bytes to the reply's, without the rows themselves.

use std::process::Command;

use mcp_aql_bench::in_turns;
use mcp_aql_bench::table::{Row, Target, Unit};

use super::{Large, Outcome};
use crate::{Result, Setup};

/// Number of rows in the small collection.
const FEW: usize = 1_000;

/// Measures the peak in a separate process, because counting slows down every allocation.
fn peak(setup: &Setup, rows: usize) -> Result<f64> {
    let output = Command::new(&setup.page_memory).arg(rows.to_string()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

pub(super) fn run(setup: &Setup, _: &Large) -> Result<Outcome> {
    Ok(Outcome::Rows(vec![Row {
        name: "memory".to_owned(),
        what: format!("memory of a page, among {} rows; among {FEW}", setup.rows),
        unit: Unit::Bytes,
        // Allocations do not depend on the load of the machine, so few rounds are enough.
        turns: in_turns(setup.rounds.min(3), || peak(setup, setup.rows), || peak(setup, FEW))?,
        target: Target::AtMost(1.1),
    }]))
}
