//! A page of metrics for Prometheus about an adapter: calls, errors, latencies, sessions, executions, confirmations and
//! the store. Authors of adapters use this crate as the feature `metrics` of the crate `mcp-aql`.
//!
//! The page never contains the values of arguments, results, names that only a caller knows, or the identity of callers.

mod instruments;
mod labels;
mod page;
#[cfg_attr(not(feature = "safety"), path = "without_safety.rs")]
mod safety;
mod server;

pub use page::Metrics;
