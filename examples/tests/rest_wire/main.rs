//! End-to-end tests of `rest`, with well-behaved and faulty services.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

mod faults;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "../support/mcp.rs"]
mod mcp;
mod operations;
#[path = "../support/program.rs"]
mod program;
mod upstream;

const CREATE: &str = "mcp_aql_create";
const READ: &str = "mcp_aql_read";
const UPDATE: &str = "mcp_aql_update";
const DELETE: &str = "mcp_aql_delete";
