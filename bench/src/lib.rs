//! Measures mcp-aql beside plain rmcp and json-patch: `cargo bench -p mcp-aql-bench`.
//!
//! Ours and the peer take turns, round by round, in one run on one machine, and the result is the
//! ratio of their medians: figures of two machines, or of two runs, say little about each other.
//! Every reply is checked. A wrong one ends the run.

mod chart;
mod measure;
mod server;

pub mod command;
pub mod records;
pub mod rows;
pub mod table;
pub mod tokens;

use std::path::PathBuf;

pub use measure::{Scale, Turns, in_turns, nanos_each, nanos_each_async};

/// What ends a run.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// The result of whatever can end a run.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// The two programs with the fifty operations.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `records_aql`.
    pub ours: PathBuf,
    /// `records_rmcp`.
    pub peer: PathBuf,
}

/// What a measurement has at hand.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What to start.
    pub programs: Programs,
    /// How much to do.
    pub scale: Scale,
}
