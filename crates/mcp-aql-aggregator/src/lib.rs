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

/// Access to internals for the fuzz target.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use rmcp::model::{CallToolResult, ContentBlock};

    use crate::items;
    use crate::rank::clean;

    /// Maximum number of items of an answer, and maximum length of each in characters.
    pub const LIMITS: (usize, usize) = (20, 300);

    /// Splits an answer into items. `answer` is a tool result as JSON, or prose.
    pub fn items(answer: &str, path: Option<&str>) -> Vec<String> {
        let answer = serde_json::from_str(answer)
            .unwrap_or_else(|_| CallToolResult::success(vec![ContentBlock::text(answer)]));
        let _ = items::is_failure(&answer);
        let places = items::ItemLocation { path: path.map(str::to_owned), between: None };
        let split = items::split(&answer, &places, LIMITS.0, LIMITS.1);
        split.items.into_iter().map(|item| item.content).collect()
    }

    /// Returns `true` if cleaning would remove nothing from `content`.
    pub fn is_clean(content: &str) -> bool {
        clean(content) == content
    }
}
