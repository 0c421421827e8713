//! Serves the fifty operations with plain rmcp: on standard input and output, or with `serve --http ADDRESS`.

use std::error::Error;
use std::sync::Arc;

use axum::serve::ListenerExt as _;
use mcp_aql_bench::records::rmcp::Records;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let server = Records::server();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["serve"] => {
            server.serve(stdio_pipes()).await?.waiting().await?;
            Ok(())
        }
        ["serve", "--http", address] => serve_http(server, address).await,
        _ => Err("usage: records_rmcp [serve [--http ADDRESS]]".into()),
    }
}

/// Serves HTTP under the same conditions as mcp-aql: at `/mcp`, with rmcp's defaults and TCP_NODELAY.
async fn serve_http(server: Arc<Records>, address: &str) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("MCP on http://{}/mcp", listener.local_addr()?);
    let service = StreamableHttpService::new(
        move || Ok(Arc::clone(&server)),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, router).await?)
}
