//! The tool over streamable HTTP.

use mcp_aql::__private::transport::serve_tools_listener;
use mcp_aql::HttpOptions;
use tokio::net::TcpListener;

use super::query_tool::QueryTool;
use crate::engine::Aggregator;

/// Serves MCP clients over streamable HTTP at `/mcp`, until `stop` is done.
///
/// A query needs no session, so that there are none: a client that goes leaves nothing behind. Hosts and
/// origins are checked as `options` say, and slow clients given up.
///
/// # Errors
/// When others could reach the address and `options` does not allow that.
pub async fn serve_listener<S>(
    aggregator: &Aggregator,
    listener: TcpListener,
    options: HttpOptions,
    stop: S,
) -> mcp_aql::Result<()>
where
    S: Future<Output = ()> + Send + 'static,
{
    let tool = QueryTool::new(aggregator.clone());
    serve_tools_listener(tool, listener, options.sessions(false), stop).await
}
