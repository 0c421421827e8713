//! The aggregator as an MCP server with one tool, `mcp__proxy__aggregator__query`.

#[cfg(feature = "http")]
mod http;
pub(crate) mod input;
mod query_tool;
pub(crate) mod schema;

use std::io;

use mcp_aql::__private::transport::{serve_tools, serve_tools_stdio};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::engine::Aggregator;
#[cfg(feature = "http")]
pub use http::serve_listener;
use query_tool::QueryTool;

/// The tool's name, which the contract sets.
pub const TOOL: &str = "mcp__proxy__aggregator__query";
/// The longest query, in characters.
pub const LONGEST_QUERY: usize = 10_000;
/// The fewest results that can be asked for.
pub const LEAST_RESULTS: usize = 10;
/// The most results that can be asked for.
pub const MOST_RESULTS: usize = 100;

/// The longest message of a client: a query whose every character is written as two escapes, a hundred
/// times over for what else a message may hold.
const LONGEST_MESSAGE: usize = 1 << 20;

/// Serves one client over standard input and output, until it goes.
///
/// Standard output belongs to MCP from here on.
///
/// # Errors
/// When the client does not speak MCP.
pub async fn serve_stdio(aggregator: &Aggregator) -> io::Result<()> {
    serve_tools_stdio(QueryTool::new(aggregator.clone())).await.map_err(io::Error::other)
}

/// Serves one client over any stream, until it goes.
///
/// # Errors
/// When the client does not speak MCP.
pub async fn serve<R, W>(aggregator: &Aggregator, read: R, write: W) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let tool = QueryTool::new(aggregator.clone());
    serve_tools(tool, read, write).await.map_err(io::Error::other)
}
