//! Serves the operations on places with plain rmcp, on standard input and output.

use std::error::Error;

use rmcp::ServiceExt as _;
use rmcp::transport::stdio_pipes;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = mcp_aql_bench::places::rmcp::Server::start();
    server.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
