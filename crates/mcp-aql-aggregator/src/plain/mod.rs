//! The aggregator as an MCP server with one tool, `mcp__proxy__aggregator__query`.

mod input;
mod query_tool;
mod schema;

use std::io;

use mcp_aql_server::{serve_tools, serve_tools_stdio};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::engine::Aggregator;
pub use crate::engine::{MAX_QUERY_CHARS, MAX_RESULTS, MIN_RESULTS};
#[cfg(feature = "http")]
pub use http::serve_listener;
use query_tool::QueryTool;

/// The tool's name, defined by the contract.
pub const TOOL: &str = "mcp__proxy__aggregator__query";
/// Maximum size of a client's message in bytes. It holds the longest query even if every character
/// is written as two escapes, with enough space for the rest of a message.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Serves one client on standard input and output until the client disconnects.
///
/// From then on, only MCP messages may be written to standard output, so send logs elsewhere.
///
/// ```no_run
/// use mcp_aql_aggregator::{Aggregator, Config, plain};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let aggregator = Aggregator::start(Config::from_file("servers.json".as_ref())?);
/// plain::serve_stdio(&aggregator).await?;
/// aggregator.close().await;
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Returns an error if the MCP connection fails.
pub async fn serve_stdio(aggregator: &Aggregator) -> io::Result<()> {
    serve_tools_stdio(QueryTool::new(aggregator.clone())).await.map_err(io::Error::other)
}

/// Serves one client over any stream until the client disconnects. You can call it several times to
/// serve more clients with the same aggregator.
///
/// # Errors
///
/// Returns an error if the MCP connection fails.
pub async fn serve<R, W>(aggregator: &Aggregator, read: R, write: W) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let tool = QueryTool::new(aggregator.clone());
    serve_tools(tool, read, write).await.map_err(io::Error::other)
}

/// Serves the query tool over streamable HTTP.
#[cfg(feature = "http")]
mod http {
    use mcp_aql::HttpOptions;
    use mcp_aql::transport::Shutdown;
    use mcp_aql_server::serve_tools_listener;
    use tokio::net::TcpListener;

    use super::QueryTool;
    use crate::engine::Aggregator;

    /// Serves MCP clients over streamable HTTP at `/mcp` until `stop` completes. `stop` is a future or
    /// a [`Shutdown`].
    ///
    /// Sessions are not used, because a query does not need one. `options` controls the checks of hosts
    /// and origins. Slow clients are disconnected.
    ///
    /// # Errors
    ///
    /// Returns an error if other machines could reach the address and `options` does not allow that.
    pub async fn serve_listener<S>(
        aggregator: &Aggregator,
        listener: TcpListener,
        mut options: HttpOptions,
        stop: S,
    ) -> mcp_aql::Result<()>
    where
        S: Into<Shutdown>,
    {
        let tool = QueryTool::new(aggregator.clone());
        options.settings.stateless = true;
        serve_tools_listener(tool, listener, options, stop).await
    }
}
