//! Benchmarks of the aggregator: the time and memory of a query, and the speed of ranking compared
//! with other search engines (`cargo bench`). `src/bin/quality.rs` measures the ranking quality.
//!
//! Queries are measured from the client's view: the aggregator is a process that reads request
//! lines, queries ten other processes and writes reply lines.
//!
//! The ranking measurement covers parsing the results, scoring them and joining copies. The other
//! engines index the same results in memory and run the same query.

mod peers;
mod rows;

pub mod programs;
pub mod quality;
pub mod texts;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};
pub use rows::measure;

/// The parameters of a benchmark run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of rounds of each comparison.
    pub rounds: usize,
    /// Number of results to rank in each of the three comparisons.
    pub results: [usize; 3],
    /// Number of queries of each kind. Measurements with a hanging server run fewer of them.
    pub queries: usize,
    /// Path of the aggregator's executable.
    pub aggregator: PathBuf,
    /// Path of the scripted server's executable.
    pub server: PathBuf,
    /// Path of the program that measures the memory of a query.
    pub query_memory: PathBuf,
}
