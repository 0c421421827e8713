//! Tests of the command, and of tables in SQLite.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod sqlite;
