//! Measures the ranking quality on collections with human relevance judgments.
//!
//! Run `JUDGED_COLLECTIONS=DIR cargo run --release --bin quality` in `bench/aggregator`. `DIR`
//! contains two classic collections in their usual distribution format:
//!
//! ```text
//! DIR/cranfield/cran.all  DIR/cranfield/cran.qry  DIR/cranfield/cranqrel
//! DIR/cacm/cacm.all       DIR/cacm/query.text     DIR/cacm/qrels.text
//! ```
//!
//! Read the results for CACM with care, because the ranking constants have seen it. `K1`, `B`,
//! `UNSEEN` and `RANK` were chosen on Cranfield, CACM and CISI together and kept since. `SHORT`,
//! the number of words below which copies are judged more strictly, was chosen on both collections.
//! The last tuning only used Cranfield. Two constants were not tuned: the trust in a server's own
//! order when there is little evidence (`PRIOR`), and the score of results without a query word
//! (`FLOOR`).

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use mcp_aql_aggregator_bench::Result;
use mcp_aql_aggregator_bench::quality::{
    Collection, Goal, Line, copies_lines, merged_lines, orders_line,
};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints the report. Returns `true` if all goals are met.
fn run() -> Result<bool> {
    let folder = std::env::var_os("JUDGED_COLLECTIONS")
        .ok_or("JUDGED_COLLECTIONS is not set: see the comment at the top of this program")?;
    let folder = Path::new(&folder);
    let cranfield = Collection::cranfield(folder)?;
    let cacm = Collection::cacm(folder)?;
    let mut lines = merged_lines(&cranfield, 0.93);
    lines.extend(merged_lines(&cacm, 0.90));
    lines.extend(copies_lines(&cranfield));
    lines.extend(copies_lines(&cacm));
    lines.push(orders_line(&cranfield));
    lines.push(orders_line(&cacm));
    print(&lines)?;
    Ok(lines.iter().all(Line::is_met))
}

fn print(lines: &[Line]) -> Result {
    let width = lines.iter().map(|line| line.what.chars().count()).max().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:width$}  {:>8}  {:>8}  met?", "what", "figure", "goal")?;
    for line in lines {
        let met = match line.goal {
            Goal::None => "–",
            _ if line.is_met() => "yes",
            _ => "no",
        };
        writeln!(out, "{:width$}  {:>8}  {:>8}  {met}", line.what, line.figure(), line.goal())?;
    }
    let aimed = || lines.iter().filter(|line| line.goal != Goal::None);
    let met = aimed().filter(|line| line.is_met()).count();
    writeln!(out, "\n{met} of {} goals met.", aimed().count())?;
    Ok(())
}
