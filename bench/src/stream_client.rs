//! An MCP client over a stream in memory.

use mcp_aql::Adapter;
use mcp_aql::transport::ServeStream as _;
use rmcp::ServiceExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::Result;
use crate::records::rmcp::Records;
use crate::server::{INITIALIZE, INITIALIZED};

/// A client that sends a line and reads the next one.
#[derive(Debug)]
pub(crate) struct StreamClient {
    stream: BufReader<DuplexStream>,
    line: String,
}

impl StreamClient {
    /// Serves an adapter, and returns a client with the answer to `initialize`.
    pub(crate) async fn of_adapter(adapter: Adapter) -> Result<(Self, String)> {
        // The task ends when the client drops its end of the stream.
        Self::of(|stream| async move {
            let _ = adapter.serve(stream).await;
        })
        .await
    }

    /// Does the same with the fifty operations as discrete tools.
    pub(crate) async fn of_tools() -> Result<(Self, String)> {
        Self::of(|stream| async move {
            if let Ok(running) = Records::server().serve(stream).await {
                let _ = running.waiting().await;
            }
        })
        .await
    }

    async fn of<F: Future<Output = ()> + Send + 'static>(
        serve: impl FnOnce(DuplexStream) -> F,
    ) -> Result<(Self, String)> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        tokio::spawn(serve(theirs));
        let mut client = Self { stream: BufReader::new(ours), line: String::new() };
        let hello = client.ask(INITIALIZE).await?.to_owned();
        client.stream.write_all(INITIALIZED.as_bytes()).await?;
        Ok((client, hello))
    }

    /// Sends a line and returns the next one.
    pub(crate) async fn ask(&mut self, request: &str) -> Result<&str> {
        self.stream.write_all(request.as_bytes()).await?;
        self.line.clear();
        if self.stream.read_line(&mut self.line).await? == 0 {
            return Err("the server has exited".into());
        }
        Ok(&self.line)
    }
}
