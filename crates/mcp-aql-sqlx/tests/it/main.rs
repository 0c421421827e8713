//! Tests of the stores in pools of sqlx.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

// SQLite through sqlx and through rusqlite in one program.
#[cfg(feature = "sqlite")]
mod beside;
// A recipe of the book.
#[cfg(feature = "sqlite")]
mod pool;
// Compares the stores in both databases with a store in memory.
#[cfg(all(feature = "sqlite", feature = "postgres"))]
mod stores;
