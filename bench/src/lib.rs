//! Measures mcp-aql against plain rmcp and json-patch: `cargo bench -p mcp-aql-bench`.
//!
//! mcp-aql and its peer take turns, round by round, in one run on one machine. The result is the ratio of their
//! medians, because absolute times of other machines or runs cannot be compared. Every reply is checked. A wrong reply
//! ends the run.

mod chart;
mod measure;
mod server;

pub mod command;
pub mod places;
pub mod records;
pub mod rows;
pub mod table;
pub mod tokens;

use std::path::PathBuf;

pub use measure::{Scale, Turns, in_turns, nanos_each, nanos_each_async};

/// An error that ends a run.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// The result of a fallible step of a run.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// The two programs with the same fifty operations.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `records_aql`.
    pub ours: PathBuf,
    /// `records_rmcp`.
    pub peer: PathBuf,
}

/// The parameters of a run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The programs under test.
    pub programs: Programs,
    /// The size of the measurements.
    pub scale: Scale,
}
