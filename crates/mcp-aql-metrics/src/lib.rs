//! Prometheus metrics of an adapter: calls, errors, latencies, sessions, executions, confirmations and the store.
//!
//! As the author of an adapter, enable the feature `metrics` of the crate `mcp-aql` instead of depending on this crate.
//!
//! The page never contains argument values, results, operation names invented by callers, or the identity of callers.
//!
//! ```text
//! mcp_aql_calls_total{operation="get_count",category="READ",outcome="succeeded"} 1
//! ```

mod instruments;
mod labels;
mod page;
#[cfg_attr(not(feature = "safety"), path = "without_safety.rs")]
mod safety;
mod server;

pub use page::Metrics;
