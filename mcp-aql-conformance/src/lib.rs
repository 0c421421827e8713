//! Tests any running MCP-AQL adapter for conformance, over standard input and output, HTTP, or in memory.
//!
//! It learns what an adapter offers from introspection alone, makes valid and invalid requests from that,
//! and judges every reply. By default it calls nothing but READ operations, and what has to be refused.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use mcp_aql_conformance::{CommandTarget, Runner, Settings};
//!
//! let target = CommandTarget::new("tasks", ["--db", "test.db"]);
//! let report = Runner::new(target, Settings::default().level(1)).run().await;
//! assert_eq!(report.conformance_level, 1, "{:#?}", report.obstacles);
//! # }
//! ```
//!
//! | to … | see |
//! |---|---|
//! | say what is tested | [`CommandTarget`], `UrlTarget` (feature `http`), [`MemoryTarget`], [`PerMode`] |
//! | say how | [`Settings`], [`File`], [`TimeLimits`] |
//! | run it, and watch it | [`Runner`], [`Progress`] |
//! | read what was found | [`Report`], [`Verdict`], [`Finding`] |
//! | know what is checked | [`checks`], [`Check`], [`Keyword`] |
//! | make evidence for the protocol's own runner | [`Runner::evidence`] |
//!
//! An adapter that is built with `mcp-aql` has the same as an assertion for its own tests:
//! `mcp_aql::testing::assert_conforms`.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `cli` | yes | the command `mcp-aql-conformance` |
//! | `http` | yes | adapters over streamable HTTP |
//! | `tls` | yes | the same with TLS: `https://` |
//!
//! # Limits
//!
//! Whatever an adapter sends, a run ends in the time that [`TimeLimits::run`] gives it, and needs memory for
//! one message of 24 MiB, of 500,000 values, for 2 MiB of messages that nobody asked for on each connection,
//! and for 8 to 12 MiB each of what was learned, of pages that are walked, and of things that were met. What
//! goes beyond that is a finding, a check that is left out with its reason, or the end of the run.
#![forbid(unsafe_code)]

mod call;
mod cases;
mod checks;
pub mod config;
mod evidence;
mod forms;
mod leaks;
mod learn;
mod pages;
mod prime;
pub mod report;
mod resources;
mod run;
mod runner;
mod secrets;
mod values;
mod wire;

pub use call::TimeLimits;
pub use cases::Finding;
pub use checks::{Check, Keyword, all as checks};
pub use config::{ConfigError, File, Settings};
pub use evidence::EvidenceError;
pub use learn::{Category, Mode};
pub use report::{Report, Verdict};
pub use runner::{Progress, Runner};
#[cfg(feature = "http")]
pub use wire::UrlTarget;
pub use wire::{CommandTarget, MemoryTarget, PerMode, Target};
