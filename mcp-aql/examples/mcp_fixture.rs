//! The adapter of the MCP tests as a program, so that tests can start it as a child process.

use mcp_aql::cli::RunAdapter as _;

#[path = "../tests/it/support/adapter.rs"]
#[allow(missing_docs, unreachable_pub, dead_code, reason = "shared with the tests")]
#[allow(clippy::unwrap_used, clippy::panic, reason = "the fixture of tests")]
mod adapter;

#[tokio::main]
async fn main() -> mcp_aql::Result {
    adapter::builder().build().run().await
}
