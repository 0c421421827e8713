//! Tests of the aggregator: its command with working and broken servers, and its ranking.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod quality;
// The program has no tests of its own, so those of its tables run here.
#[cfg(feature = "cli")]
#[path = "../../src/cli/table.rs"]
#[allow(dead_code, reason = "the program uses what the tests do not")]
mod table;
#[cfg(all(feature = "cli", feature = "http", unix))]
mod wire;

/// Not a test: runs this program as the server of the other tests if the script variable is set.
#[test]
fn as_server() {
    mcp_aql_upstreams::serve_if_asked();
}
