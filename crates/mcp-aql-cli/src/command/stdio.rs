//! Serves MCP on standard input and output.

use mcp_aql_core::{Adapter, Result};
use mcp_aql_server::ServeStdio as _;

use super::Exit;
use super::process_report::log_state;

/// Serves one client on standard input and output, and logs the start.
pub(super) async fn serve_stdio(adapter: &Adapter) -> Result<Exit> {
    log_state("MCP on standard input and output");
    adapter.serve_stdio().await.map(|()| Exit::Success)
}
