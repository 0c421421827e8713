//! Prints every measure of the workspace with its limit, and the places that exceed it.
//!
//! `mcp-aql-structure` prints the table; with a number, that many places of each measure that is over its
//! limit as well. It exits with 1 if a measure is over its limit.

use std::io::Write as _;
use std::process::ExitCode;

use mcp_aql_structure::measures::{Measure, measure, workspace};

fn main() -> ExitCode {
    let shown = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    let measures = measure(&workspace());
    let mut out = std::io::stdout().lock();
    for measure in &measures {
        let verdict = if measure.holds() { "" } else { "OVER THE LIMIT" };
        let (title, value, limit) = (&measure.title, measure.value, measure.limit);
        _ = writeln!(out, "{title:65} {value:7.1} of {limit:4} {verdict}");
        if !measure.holds() {
            for place in measure.places.iter().take(shown) {
                _ = writeln!(out, "    {place}");
            }
        }
    }
    if measures.iter().all(Measure::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
