//! MCP over standard input and output, and over other streams.

use std::future::pending;
use std::sync::Arc;

#[cfg(feature = "stdio")]
use tokio::io::AsyncWriteExt as _;
use tokio::io::{AsyncRead, AsyncWrite};

use super::adapter_tools::AdapterTools;
use super::pipe::serve_halves;
use super::service::ToolService;
use crate::adapter::Adapter;
#[cfg(feature = "stdio")]
use crate::execution::EndScope;
#[cfg(feature = "stdio")]
use crate::future::erased;
use crate::main_error::Result;

/// The size of a read from standard input, in bytes.
#[cfg(feature = "stdio")]
const READ_SIZE: usize = 64 << 10;

impl Adapter {
    /// Serves one MCP client over standard input and output, until the client disconnects or the
    /// process receives a signal (Ctrl-C, or SIGTERM).
    ///
    /// Then the session ends: running calls are answered within half a second or cancelled,
    /// executions that the client has begun and those without a session are cancelled, confirmation
    /// tokens are revoked and agents are stopped. All of this is in the store and in the audit log
    /// when the future completes. Each of these waits is bounded; see
    /// [`end_executions`](Self::end_executions).
    ///
    /// Standard output is reserved for the protocol from then on: logs go to standard error.
    ///
    /// # Errors
    /// [`Error::Transport`](crate::Error::Transport) if the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    #[cfg(feature = "stdio")]
    pub fn serve_stdio(&self) -> impl Future<Output = Result> + Send + '_ {
        erased(async {
            let _services = self.start_services().await?;
            let stopped = Box::pin(crate::stop::told_to_stop());
            let (read, write) = standard_streams()?;
            let served = serve_halves(AdapterTools::new(self), read, write, stopped).await;
            self.end_executions_of(EndScope::EndedAndSessionless).await;
            served
        })
    }

    /// Serves one MCP client over any stream until the client disconnects: a socket, or a
    /// [`tokio::io::duplex`] in a test. One connection is one session. Executions that the client
    /// has begun are cancelled when it disconnects.
    ///
    /// # Errors
    /// [`Error::Transport`](crate::Error::Transport) if the client does not speak MCP.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    pub fn serve<T>(&self, stream: T) -> impl Future<Output = Result> + Send + use<'_, T>
    where
        T: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(stream);
        let (read, write) = (Box::new(read), Box::new(write));
        serve_halves(AdapterTools::new(self), read, write, Box::pin(pending()))
    }
}

/// Serves tools to one MCP client over standard input and output, until the client disconnects.
#[cfg(feature = "stdio")]
pub fn serve_tools_stdio(service: Arc<dyn ToolService>) -> impl Future<Output = Result> + Send {
    erased(async {
        let (read, write) = standard_streams()?;
        serve_halves(service, read, write, Box::pin(pending())).await
    })
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
    serve_halves(service, Box::new(read), Box::new(write), Box::pin(pending()))
}

/// Standard input and output as streams that do not delay the end of the process.
///
/// A read of tokio's standard input occupies a thread of the runtime, which does not shut down
/// before that thread is free: after a signal the process would stay until the client sends
/// something. On Linux pipes are read without a thread. Everything else is read by a thread that
/// the runtime does not wait for.
#[cfg(feature = "stdio")]
fn standard_streams() -> Result<(super::pipe::Reader, super::pipe::Writer)> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::FileTypeExt as _;

        let is_pipe = |stream: &str| {
            std::fs::metadata(stream).is_ok_and(|metadata| metadata.file_type().is_fifo())
        };
        if is_pipe("/proc/self/fd/0") && is_pipe("/proc/self/fd/1") {
            let (read, write) = rmcp::transport::io::stdio_pipes();
            return Ok((Box::new(read), Box::new(write)));
        }
    }
    let (mut input, read) = tokio::io::duplex(READ_SIZE);
    let runtime = tokio::runtime::Handle::current();
    std::thread::Builder::new().name("mcp-aql-stdin".to_owned()).spawn(move || {
        let mut buffer = vec![0; READ_SIZE];
        loop {
            match std::io::Read::read(&mut std::io::stdin(), &mut buffer) {
                Ok(0) => return,
                Ok(length) => {
                    let bytes = buffer.get(..length).unwrap_or_default();
                    if runtime.block_on(input.write_all(bytes)).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return tracing::debug!(%error, "standard input cannot be read"),
            }
        }
    })?;
    Ok((Box::new(read), Box::new(tokio::io::stdout())))
}
