//! MCP over standard input and output.

use std::sync::Arc;

use mcp_aql_core::internal::execution::EndScope;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{Adapter, Result};
use tokio::io::AsyncWriteExt as _;

use super::standard_pipes::standard_pipes;
use super::{Input, Writer, serve_halves};
use crate::adapter::AdapterTools;
use crate::mcp::drain::Shutdown;
use crate::mcp::service::ToolService;
use crate::stop::on_signal;

/// Size of a read from standard input, in bytes.
const READ_SIZE: usize = 64 << 10;

/// Serves an adapter over standard input and output.
pub trait ServeStdio {
    /// Serves one MCP client over standard input and output, until the client disconnects or the process receives
    /// Ctrl-C or SIGTERM.
    ///
    /// After a signal, new calls are rejected. Running calls and executions have
    /// [`drain_timeout`](mcp_aql_core::AdapterBuilder::drain_timeout) to finish; a second signal ends the wait.
    ///
    /// After the client closes standard input, running calls have half a second to finish. Then READs are canceled, and
    /// changes have the same time as after a signal. Unfinished calls are logged.
    ///
    /// Finally, the session ends. Executions started by the client and those without a session are canceled,
    /// confirmation tokens are revoked, and agents are stopped. All of this is in the store and in the audit log when
    /// the future completes. Each of these waits is bounded; see [`end_sessions`](Adapter::end_sessions).
    ///
    /// Do not write to standard output once you have called this method: it is reserved for the protocol. Logs go to
    /// standard error.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`](mcp_aql_core::Error::Transport) if the client does not speak MCP, and
    /// [`Error::Other`](mcp_aql_core::Error::Other) if the adapter's [store](Adapter::check_store) cannot be used.
    ///
    /// Source: REQ-SES-01, REQ-SES-02.
    fn serve_stdio(&self) -> impl Future<Output = Result> + Send;
}

impl ServeStdio for Adapter {
    fn serve_stdio(&self) -> impl Future<Output = Result> + Send {
        erased(async {
            let _services = self.start_services().await?;
            let shutdown = on_signal();
            let (read, write) = standard_streams()?;
            let served = serve_halves(AdapterTools::new(self), read, write, shutdown).await;
            self.end_executions_of(EndScope::EndedAndSessionless).await;
            self.flush_tracer().await;
            served
        })
    }
}

/// Serves tools to one MCP client over standard input and output, until the client disconnects.
pub fn serve_tools_stdio(service: Arc<dyn ToolService>) -> impl Future<Output = Result> + Send {
    erased(async {
        let (read, write) = standard_streams()?;
        serve_halves(service, read, write, Shutdown::never()).await
    })
}

/// Opens standard input and output as streams that do not delay the exit of the process.
///
/// A read of `tokio::io::stdin` occupies a thread of the runtime, and the runtime does not shut down before that thread
/// is free. After a signal, the process would run until the client sends something. On Linux, pipes are read without a
/// thread. All other inputs are read by a thread that the runtime does not wait for.
fn standard_streams() -> Result<(Input, Writer)> {
    if let Some(pipes) = standard_pipes() {
        return Ok(pipes);
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
    Ok((Input::new(read), Box::new(tokio::io::stdout())))
}
