//! Serves the operations on places with mcp-aql, on standard input and output.

use mcp_aql::cli::RunAdapter as _;

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    mcp_aql_bench::places::aql::adapter()?.run().await
}
