//! Measures queries: `cargo bench -p mcp-aql-queries-bench`.
//!
//! Each comparison computes the same answer twice, with a query and in another way, in turns within one run. The
//! answers are compared before the clock starts.

mod loops;
mod postgres;
mod sqlite;

pub mod rows;
pub mod sales;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};

/// The parameters of the measurements.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Rounds of each comparison.
    pub rounds: usize,
    /// Rows in the large collection.
    pub rows: usize,
    /// The number of the page that is compared with the first.
    pub deep_page: usize,
    /// The program that prints the memory of a page.
    pub page_memory: PathBuf,
}
