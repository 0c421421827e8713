//! What memory a query takes, from its line to that of the answer.

use std::process::Command;

use mcp_aql_bench::rows::Outcome;
use mcp_aql_bench::table::{Target, Unit};

use crate::{Result, Setup};

/// What a query may take.
const MOST: f64 = 4.0 * 1024.0 * 1024.0;

/// A process of its own counts, since counting slows everything that allocates.
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
    Ok(Outcome::Rows(vec![super::alone("memory", what, Unit::Bytes, peaks, Target::Below(MOST))]))
}
