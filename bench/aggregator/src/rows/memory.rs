//! Measures the peak memory of a query, from its request line to its reply line.

use std::process::Command;

use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Target, Unit};

use crate::{Result, Setup};

/// Maximum peak memory of a query, in bytes.
const MAX_BYTES: f64 = 4.0 * 1024.0 * 1024.0;

/// Measures the peak in a separate process, because counting slows down every allocation.
fn peak(setup: &Setup) -> Result<f64> {
    let output = Command::new(&setup.query_memory).arg(&setup.server).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let what = "memory of a query at most: 10 servers, 100 results of 1 KB each".to_owned();
    let peaks = (0..setup.rounds.min(5)).map(|_| peak(setup)).collect::<Result<Vec<_>>>()?;
    Ok(Outcome::Rows(vec![super::single_row(
        "memory",
        what,
        Unit::Bytes,
        peaks,
        Target::Below(MAX_BYTES),
    )]))
}
