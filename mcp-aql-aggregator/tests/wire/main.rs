//! The built command, as clients and terminals meet it, in front of servers that behave and servers that do
//! not.
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

/// Not a test of anything: this program is the servers of the other tests, when it is asked to.
#[test]
fn as_server() {
    mcp_aql_upstreams::serve_if_asked();
}
