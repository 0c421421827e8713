use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Watched};
use super::server::{Server, Shared};
use crate::adapter::Adapter;
use crate::main_error::{Error, Result};

/// How long calls may still run when the client has said all that it will say. Enough for the
/// answers to requests that were piped in, and short enough that a client that died is noticed.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The longest line that anyone may send: rmcp's own bound, or more where requests may be larger.
pub(super) fn longest_message(max_request_size: usize) -> usize {
    // A client may write each character outside of ASCII as an escape, three times its size.
    max_request_size.saturating_mul(3).saturating_add(64 << 10)
}

/// Ends the session with whatever ends the connection, even if that is a dropped future.
struct EndOnDrop(Arc<Connection>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

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
        self.serve_halves(read, write).await
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
        self.serve_halves(read, write).await
    }

    async fn serve_halves<R, W>(&self, read: R, write: W) -> Result
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let input_ended = CancellationToken::new();
        let longest = longest_message(self.limits().max_request_size).max(16 << 20);
        let read = Watched::new(read, input_ended.clone());
        let transport = AsyncRwTransport::<RoleServer, _, _>::new_server(read, write)
            .with_max_line_length(longest);
        let connection = Arc::new(Connection::lasting());
        let _end = EndOnDrop(Arc::clone(&connection));
        let server = Server::new(Shared::new(self), Arc::clone(&connection));
        let running = match server.serve(transport).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(Error::transport(error)),
        };
        let finished = running.waiting();
        tokio::pin!(finished);
        let nobody_reads = async {
            input_ended.cancelled().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        let finished = tokio::select! {
            finished = &mut finished => finished,
            () = nobody_reads => {
                // rmcp would let calls run for five seconds more before it tells them.
                connection.end();
                finished.await
            }
        };
        finished.map(|_reason| ()).map_err(Error::transport)
    }
}
