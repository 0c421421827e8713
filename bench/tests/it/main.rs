//! Tests the measurements.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod compare;
#[cfg(feature = "gates")]
mod gates;
#[cfg(feature = "queries")]
mod queries;
#[cfg(feature = "tokens")]
mod tokens;

use mcp_aql_bench::table::Table;

/// Checks the names of the rows, and that each of their results is a positive number.
fn check_rows(table: &Table, names: &[&str]) {
    let measured: Vec<_> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(measured, names);
    for row in &table.rows {
        for value in row.turns.ours.iter().chain(&row.turns.peer) {
            assert!(value.is_finite() && *value > 0.0, "{}: {value}", row.name);
        }
    }
}
