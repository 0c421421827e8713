//! MCP over any pair of streams.

use std::sync::Arc;

use mcp_aql_core::{Adapter, Result};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Input, serve_halves};
use crate::adapter::AdapterTools;
use crate::mcp::drain::Shutdown;
use crate::mcp::service::ToolService;

/// Serves an adapter over any stream.
pub trait ServeStream {
    /// Serves one MCP client over a stream until the client disconnects. Use this for a socket, or with a
    /// [`tokio::io::duplex`] in a test.
    ///
    /// One connection is one session. When the client disconnects, the executions that it has started are canceled.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`](mcp_aql_core::Error::Transport) if the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    fn serve<T>(&self, stream: T) -> impl Future<Output = Result> + Send
    where
        T: AsyncRead + AsyncWrite + Send + 'static;
}

impl ServeStream for Adapter {
    fn serve<T>(&self, stream: T) -> impl Future<Output = Result> + Send
    where
        T: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(stream);
        let (read, write) = (Input::new(read), Box::new(write));
        serve_halves(AdapterTools::new(self), read, write, Shutdown::never())
    }
}

/// Serves tools to one MCP client over two streams, until the client disconnects.
pub fn serve_tools<R, W>(
    service: Arc<dyn ToolService>,
    read: R,
    write: W,
) -> impl Future<Output = Result> + Send + use<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_halves(service, Input::new(read), Box::new(write), Shutdown::never())
}
