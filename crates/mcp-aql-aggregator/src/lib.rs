//! Queries many MCP servers at once and returns one ranked answer.
//!
//! You configure the servers as in an MCP client, and can usually copy its `mcpServers`.
//!
//! ```no_run
//! use mcp_aql_aggregator::{Aggregator, Config, Query};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let aggregator = Aggregator::start(Config::from_file("servers.json".as_ref())?);
//! let answer = aggregator.query(Query::new("how do I pin a version")).await?;
//! for hit in &answer.results {
//!     println!("{} {:.2} {}: {}", hit.rank, hit.relevance_score, hit.server, hit.content);
//! }
//! aggregator.close().await;
//! # Ok(()) }
//! ```
//!
//! | to … | see |
//! |---|---|
//! | configure servers | [`Config`] |
//! | query them | [`Aggregator`], [`Query`], [`Answer`] |
//! | serve the tool `mcp__proxy__aggregator__query` | [`plain`] |
//! | serve MCP-AQL operations | [`adapter`] |
//! | rank your own results | [`rank`] |
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `cli` | yes | the command `mcp-aql-aggregator` |
//! | `http` | yes | servers reached over HTTP, and serving over HTTP |
//! | `tls` | yes | servers reached over HTTPS; implies `http` |
#![forbid(unsafe_code)]

mod adapter;
mod answer;
mod ask;
mod config;
mod engine;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod items;
mod names;
pub mod plain;
mod upstream;
mod variables;

pub use adapter::adapter;
pub use answer::{Answer, Hit, Metadata, ServerOutcome};
pub use config::{Config, ConfigError, Fault};
pub use engine::{
    Aggregator, AnswerCheck, CallCheck, Percentiles, Query, QueryError, ServerCall, ServerCheck,
    ServerMetrics, ServerState, ServerStatus,
};
#[doc(inline)]
pub use mcp_aql_rank::texts as rank;
