//! Measures queries: `cargo bench -p mcp-aql-queries-bench`.
//!
//! Each comparison answers the same question twice, with a query and in another way, in turns within
//! one run. What both say is compared before the clock counts.

mod loops;
mod postgres;
mod sqlite;

pub mod rows;
pub mod sales;

use std::path::PathBuf;

pub use mcp_aql_bench::{Error, Result};

/// What a measurement has at hand.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Rounds of each comparison.
    pub rounds: usize,
    /// Rows in the large collection.
    pub rows: usize,
    /// The page that is compared with the first.
    pub deep_page: usize,
    /// The program that tells what memory a page takes.
    pub page_memory: PathBuf,
}
