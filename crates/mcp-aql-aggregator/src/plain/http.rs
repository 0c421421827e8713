//! Serves the query tool over streamable HTTP.

use mcp_aql::HttpOptions;
use mcp_aql::transport::Shutdown;
use mcp_aql_server::serve_tools_listener;
use tokio::net::TcpListener;

use super::query_tool::QueryTool;
use crate::engine::Aggregator;

/// Serves MCP clients over streamable HTTP at `/mcp` until `stop` completes. `stop` is a future or
/// a [`Shutdown`].
///
/// Sessions are not used, because a query does not need one. `options` controls the checks of hosts
/// and origins. Slow clients are disconnected.
///
/// # Errors
/// Returns an error if other machines could reach the address and `options` does not allow that.
pub async fn serve_listener<S>(
    aggregator: &Aggregator,
    listener: TcpListener,
    options: HttpOptions,
    stop: S,
) -> mcp_aql::Result<()>
where
    S: Into<Shutdown>,
{
    let tool = QueryTool::new(aggregator.clone());
    serve_tools_listener(tool, listener, options.sessions(false), stop).await
}
