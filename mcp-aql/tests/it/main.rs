//! Tests of `mcp-aql` through its public API: macros, MCP over every transport, and the command line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod by_hand;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod cli_config;
#[cfg(feature = "cli")]
mod docs;
#[cfg(all(feature = "http", feature = "cli", unix))]
mod draining;
mod dynamic_operations;
#[cfg(feature = "cli")]
mod executions;
#[cfg(feature = "cli")]
mod logs;
mod mcp_calls;
#[cfg(feature = "http")]
mod mcp_elicitation;
mod mcp_hostile;
#[cfg(feature = "http")]
mod mcp_http;
#[cfg(feature = "query")]
mod mcp_queries;
#[cfg(feature = "cli")]
mod mcp_stdio;
mod mcp_tasks;
mod mcp_tools;
#[cfg(feature = "cli")]
mod own_process;
#[cfg(feature = "http")]
mod own_server;
mod resources;
mod support;
mod update_input;
