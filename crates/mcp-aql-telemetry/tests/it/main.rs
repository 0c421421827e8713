//! Tests of the spans, the metrics and the log of adapters.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

#[cfg(unix)]
mod collector;
mod confirmations;
mod global_provider;
mod json_log;
#[path = "../../../../mcp-aql/tests/it/own_process.rs"]
mod own_process;
mod strict_json;
