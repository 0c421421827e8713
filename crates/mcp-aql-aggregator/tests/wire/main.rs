//! The built command as clients and terminals use it, with working and faulty servers.
#![cfg(all(feature = "cli", feature = "http", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod command;
mod ends;
mod http;
mod loops;
mod messages;
mod operations;
mod plain;
mod support;

/// Not a test: runs this program as the server of the other tests if the script variable is set.
#[test]
fn as_server() {
    mcp_aql_upstreams::serve_if_asked();
}
