//! Measures the ranking quality on judged collections: `JUDGED_COLLECTIONS=DIR cargo run --release
//! --bin quality` in `bench/aggregator`.
//!
//! `DIR` holds two classic collections in their usual distribution format: `cranfield/cran.all`,
//! `cran.qry`, `cranqrel`, and `cacm/cacm.all`, `query.text`, `qrels.text`. The ranking constants
//! were last tuned on Cranfield alone. The first ones (`K1`, `B`, `UNSEEN`, `RANK`), which stayed,
//! had been chosen on Cranfield, CACM and CISI together, and both collections decided below how
//! many words copies are judged more strictly (`SHORT`). CACM is therefore not entirely unseen. The
//! trust in a server's own order when there is little evidence (`PRIOR`) and the score of texts
//! without a query word (`FLOOR`) were not tuned.

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

/// Returns whether all goals are met.
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
