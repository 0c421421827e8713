//! Measures queries: `cargo bench -p mcp-aql-queries-bench`.
//!
//! Each comparison computes the same result twice: with a query, and in another way. Both ways take turns in one run.
//! Their results are compared once before the measurement.

mod databases;
mod loops;

pub mod rows;
pub mod sales;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};

/// The size of the measurements.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of rounds of each comparison.
    pub rounds: usize,
    /// Number of rows in the large collection.
    pub rows: usize,
    /// Number of the deep page. It is compared with the first page.
    pub deep_page: usize,
    /// Path of the program that prints the memory of a page.
    pub page_memory: PathBuf,
}
