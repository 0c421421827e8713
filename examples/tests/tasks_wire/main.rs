//! End-to-end tests of `tasks`: a process that speaks MCP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[path = "../support/client.rs"]
mod client;
mod configuration;
mod durability;
mod gates;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "../support/mcp.rs"]
mod mcp;
mod operations;
#[path = "../support/program.rs"]
mod program;
mod queries;
