//! The aggregator as an MCP server with one tool, `mcp__proxy__aggregator__query`.

mod handler;
#[cfg(feature = "http")]
mod http;
pub(crate) mod input;
pub(crate) mod schema;

use std::io;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::engine::Aggregator;
use handler::Handler;
#[cfg(feature = "http")]
pub use http::serve_listener;

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
    let (read, write) = rmcp::transport::io::stdio_pipes();
    serve(aggregator, read, write).await
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
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(read, write)
        .with_max_line_length(LONGEST_MESSAGE);
    let running = match Handler::new(aggregator.clone()).serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map(|_reason| ()).map_err(io::Error::other)
}
