//! Serves the fifty operations with mcp-aql: on standard input and output, or with `serve --http ADDRESS`.

use mcp_aql::cli::RunAdapter as _;

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    mcp_aql_bench::records::aql::adapter()?.run().await
}
