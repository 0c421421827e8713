//! Tests of the command and of the sources for SQLite tables.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod sqlite;
