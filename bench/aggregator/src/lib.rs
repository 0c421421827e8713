//! Benchmarks of the aggregator: the time and memory of a query and the ranking speed beside other
//! engines (`cargo bench`), and the ranking quality (`src/bin/quality.rs`).
//!
//! Queries are measured as a client sees them: request and reply lines of a process that queries
//! ten other processes.
//!
//! Ranking covers reading the results, scoring them and joining copies. A peer indexes the same
//! results in memory and searches the index with the same query.

mod peers;
mod rows;

pub mod programs;
pub mod quality;
pub mod random;
pub mod texts;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};
pub use rows::measure;

/// The parameters of a benchmark run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The number of rounds of each comparison.
    pub rounds: usize,
    /// The number of ranked results in each of the three comparisons.
    pub results: [usize; 3],
    /// The number of queries of each kind. Measurements that wait for a hanging server run fewer.
    pub queries: usize,
    /// The path of the aggregator's executable.
    pub aggregator: PathBuf,
    /// The path of the scripted server's executable.
    pub server: PathBuf,
    /// The path of the program that measures the memory of a query.
    pub query_memory: PathBuf,
}
