//! Tests of the command.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod command;
