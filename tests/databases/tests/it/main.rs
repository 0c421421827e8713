//! Compares queries and stores in memory, in SQLite and in PostgreSQL. Tests two processes of one adapter.
//!
//! Without a server, the tests with PostgreSQL do nothing. To run them, start a server for the command:
//!
//! ```console
//! $ scripts/postgres.sh cargo test -p mcp-aql-tests-databases
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may panic"
)]

mod budget;
mod depth;
mod differential;
mod generated;
mod limits;
mod odd;
#[cfg(feature = "gated")]
mod processes;
mod ready_stores;
mod stores;
mod writers;
