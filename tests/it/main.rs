//! Tests the macros.

mod hygiene;
mod macros;
mod pass;
mod query_macros;
mod ui;
