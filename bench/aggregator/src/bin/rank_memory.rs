//! Tells how many bytes a query takes at most while 10 servers have given 100 results of 1 KB each:
//! the results themselves, and what ranking them takes.

use std::io::Write as _;

use mcp_aql_aggregator::rank::{RankOptions, rank};
use mcp_aql_aggregator_bench::texts::{QUERY, results};
use mcp_aql_aggregator_bench::{Result, candidates};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn main() -> Result {
    let made = results(1_000, 1_000);
    let query = || {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        // What the servers gave belongs to the query.
        let texts = made.clone();
        let candidates = candidates(&texts);
        let ranked = rank(QUERY, &candidates, &RankOptions::default());
        let peak = MEMORY.peak_usage().saturating_sub(before);
        if ranked.hits.len() != 30 || ranked.distinct >= made.len() {
            return Err("copies are not joined");
        }
        Ok(peak)
    };
    // What is made once is made here.
    query()?;
    writeln!(std::io::stdout(), "{}", query()?)?;
    Ok(())
}
