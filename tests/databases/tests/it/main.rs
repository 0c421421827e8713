//! Queries and stores in memory, in SQLite and in PostgreSQL, compared; and two processes of one adapter.

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
