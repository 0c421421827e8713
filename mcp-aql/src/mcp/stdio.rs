use tokio::io::{AsyncRead, AsyncWrite};

use super::pipe::serve_halves;
use crate::adapter::Adapter;
use crate::main_error::Result;

impl Adapter {
    /// Serves one MCP client over standard input and output, until the client goes.
    ///
    /// Standard output belongs to the protocol from here on: logs go to standard error.
    ///
    /// # Errors
    /// [`Error::Transport`] when the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> Result {
        let (read, write) = rmcp::transport::io::stdio_pipes();
        serve_halves(self, read, write).await
    }

    /// Serves one MCP client over any stream, until the client goes: a socket, or a
    /// [`tokio::io::duplex`] in a test. One connection is one session.
    ///
    /// # Errors
    /// [`Error::Transport`] when the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    pub async fn serve<T>(&self, stream: T) -> Result
    where
        T: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(stream);
        serve_halves(self, read, write).await
    }
}
