//! Prints all measures of the workspace with their limits. Exits with 1 if a measure exceeds its limit.
//!
//! To find the cause, pass a number:
//!
//! ```console
//! $ mcp-aql-structure      # prints the table
//! $ mcp-aql-structure 5    # also prints up to five locations for each exceeded limit
//! ```

use std::io::Write as _;
use std::process::ExitCode;

use mcp_aql_structure::measures::{Measure, measure, workspace};
use mcp_aql_structure::prose::Limit;

fn main() -> ExitCode {
    let shown = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    let measures = measure(&workspace());
    let mut out = std::io::stdout().lock();
    for measure in &measures {
        let verdict = if measure.holds() { "" } else { "NOT MET" };
        let (title, value) = (&measure.title, measure.value);
        let (bound, limit) = match measure.limit {
            Limit::AtMost(limit) => ("at most", limit),
            Limit::AtLeast(limit) => ("at least", limit),
        };
        _ = writeln!(out, "{title:65} {value:7.1}, {bound} {limit:4} {verdict}");
        if !measure.holds() {
            for location in measure.locations.iter().take(shown) {
                _ = writeln!(out, "    {location}");
            }
        }
    }
    if measures.iter().all(Measure::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
