//! Measures the aggregator: what a query costs, in time and memory, how fast results are ranked beside other
//! engines (`cargo bench`), and how well (`src/bin/quality.rs`).
//!
//! Queries are those of a client: lines to and from a process, which asks ten other processes.
//!
//! Of ranking, ours reads the results, scores them and joins copies; a peer puts them into an index in memory
//! and searches that. All get the same results and the same query.

mod peers;
mod rows;

pub mod programs;
pub mod quality;
pub mod random;
pub mod texts;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};
pub use rows::measure;

/// What a measurement has at hand.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Rounds of each comparison.
    pub rounds: usize,
    /// How many results are ranked, in each of three comparisons.
    pub results: [usize; 3],
    /// How many queries are asked of each kind; the ones that wait for a server that hangs are fewer.
    pub queries: usize,
    /// The aggregator.
    pub aggregator: PathBuf,
    /// What it asks.
    pub server: PathBuf,
    /// The program that tells what memory a query takes.
    pub query_memory: PathBuf,
}
