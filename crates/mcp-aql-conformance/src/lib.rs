//! Tests any running MCP-AQL adapter for conformance, over standard input and output, HTTP, or in memory.
//!
//! The runner learns the adapter from introspection alone. From that, it makes valid and invalid requests, and judges
//! every reply. By default, it only calls READ operations and makes invalid calls, so you can run it against an adapter
//! with real data.
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
//! | choose the tested adapter | [`CommandTarget`], `UrlTarget` (feature `http`), [`MemoryTarget`], [`PerMode`] |
//! | configure the run | [`Settings`], [`File`], [`TimeLimits`] |
//! | run the checks and watch the progress | [`Runner`], [`Progress`] |
//! | read the results | [`Report`], [`Verdict`], [`Finding`] |
//! | list the checks | [`checks`], [`Check`], [`Keyword`] |
//! | collect evidence for the protocol's own runner | [`Runner::evidence`] |
//!
//! If you build your adapter with `mcp-aql`, you can run the same checks in its own tests: call
//! `mcp_aql::testing::assert_conforms`.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `cli` | yes | the command `mcp-aql-conformance` |
//! | `http` | yes | adapters over streamable HTTP |
//! | `tls` | yes | adapters over HTTP with TLS: `https://` |
//!
//! # Limits
//!
//! A run ends within [`TimeLimits::run`]. Its memory is limited to one message of 24 MiB and 500,000 values, 2 MiB of
//! unrequested messages per connection, and 8 to 12 MiB each for the learned adapter, walked pages and known items.
//! Exceeding a limit results in a finding, in a skipped check with its reason, or in the end of the run.
#![forbid(unsafe_code)]

mod adapter;
mod budget;
mod call;
mod cases;
mod category;
mod checks;
pub mod config;
mod config_file;
mod evidence;
#[doc(hidden)]
pub mod files;
mod finding;
mod forms;
mod harvest;
mod items;
mod json_size;
mod leaks;
mod learn;
mod nouns;
mod pages;
mod preparation;
pub mod report;
mod requirements;
mod resources;
mod run;
mod runner;
mod secrets;
mod settings;
mod shape;
mod sync;
mod values;
mod verbs;
mod wire;

pub use category::{Category, Mode};
pub use checks::{Check, Keyword, all as checks};
pub use config::{ConfigError, File};
pub use evidence::EvidenceError;
pub use finding::{Difference, Finding};
pub use report::{Report, Verdict};
pub use requirements::{Rank, RequirementSource, requirement, requirements};
pub use runner::{Progress, Runner};
pub use settings::{Settings, TimeLimits};
#[cfg(feature = "http")]
pub use wire::UrlTarget;
pub use wire::{CommandTarget, MemoryTarget, PerMode, Target};
