//! Measures how the aggregator ranks: how fast beside other engines and in how much memory
//! (`cargo bench -p mcp-aql-aggregator-bench`), and how well (`src/bin/quality.rs`).
//!
//! Ours reads the results, scores them and joins copies; a peer puts them into an index in memory and
//! searches that. All get the same results and the same query.

mod peers;
mod rows;

pub mod quality;
pub mod random;
pub mod texts;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};
pub use rows::{candidates, measure};

/// What a measurement has at hand.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Rounds of each comparison.
    pub rounds: usize,
    /// How many results are ranked, in each of three comparisons.
    pub results: [usize; 3],
    /// The program that tells what memory a query takes.
    pub rank_memory: PathBuf,
}
