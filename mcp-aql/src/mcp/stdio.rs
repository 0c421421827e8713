use tokio::io::{AsyncRead, AsyncWrite};

use super::pipe::serve_halves;
use crate::adapter::Adapter;
#[cfg(feature = "stdio")]
use crate::adapter::erased;
#[cfg(feature = "stdio")]
use crate::execution::Ends;
use crate::main_error::Result;

impl Adapter {
    /// Serves one MCP client over standard input and output, until the client goes. Executions that
    /// it has begun, and those without a session, are cancelled then.
    ///
    /// Standard output belongs to the protocol from here on: logs go to standard error.
    ///
    /// # Errors
    /// [`Error::Transport`](crate::Error::Transport) when the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    #[cfg(feature = "stdio")]
    pub fn serve_stdio(&self) -> impl Future<Output = Result> + Send + '_ {
        erased(async {
            #[cfg(feature = "console")]
            let _console = self.start_console().await?;
            #[cfg(feature = "safety")]
            self.warn_of_channels();
            let (read, write) = rmcp::transport::io::stdio_pipes();
            let served = serve_halves(self, Box::new(read), Box::new(write)).await;
            self.end_executions_of(Ends::OfNobody).await;
            served
        })
    }

    /// Serves one MCP client over any stream, until the client goes: a socket, or a
    /// [`tokio::io::duplex`] in a test. One connection is one session. Executions that the client has
    /// begun are cancelled when it goes.
    ///
    /// # Errors
    /// [`Error::Transport`](crate::Error::Transport) when the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    pub fn serve<T>(&self, stream: T) -> impl Future<Output = Result> + Send + use<'_, T>
    where
        T: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(stream);
        let (read, write) = (Box::new(read), Box::new(write));
        serve_halves(self, read, write)
    }
}
