//! An in-memory MCP client for the tests of your adapter.
//!
//! The client sends lines to the complete server, as over standard input and output.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> mcp_aql::Result<()> {
//! use mcp_aql::{Adapter, testing::Client};
//! use serde_json::json;
//!
//! let adapter = Adapter::builder("tasks").without_config().build()?;
//! let client = Client::connect(&adapter).await?;
//! assert_eq!(client.list_tools().await?.len(), 5);
//! let result = client
//!     .call("mcp_aql_read", "introspect", json!({ "query": "operations" }))
//!     .await?;
//! assert_eq!(result.data()["operations"][0]["name"], "introspect");
//! # Ok(()) }
//! ```

#[cfg(feature = "conformance")]
mod conforms;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::JoinHandle;

#[cfg(feature = "conformance")]
pub use conforms::{assert_conforms, assert_conforms_with, conformance_report};
/// The conformance runner, for its settings and report types.
#[cfg(feature = "conformance")]
#[doc(no_inline)]
pub use mcp_aql_conformance as conformance;

pub use mcp_aql_core::internal::text::leaks_internals;
pub use mcp_aql_core::internal::util::clock::TimeSource;

use mcp_aql_core::internal::util::{lock, spawn};
use mcp_aql_core::{Adapter, Error, OperationResult, Result};

use crate::stdio::ServeStream as _;

/// The MCP version requested by the client.
const MCP_VERSION: &str = "2025-11-25";
/// Size of the buffer in each direction, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// An MCP client of one adapter, with its own connection and session.
///
/// Dropping the client closes the connection abruptly. Call [`close`](Self::close) to close it cleanly and to wait for
/// the adapter.
#[derive(Debug)]
pub struct Client {
    writer: AsyncMutex<WriteHalf<DuplexStream>>,
    next_id: AtomicU64,
    inbox: Arc<Mutex<Inbox>>,
    reader: JoinHandle<()>,
    server: Option<JoinHandle<Result>>,
    info: Value,
}

/// The received but unread messages.
#[derive(Debug, Default)]
struct Inbox {
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    notifications: Vec<Value>,
    /// If `true`, the server has closed the connection.
    closed: bool,
}

/// A tool as listed by `tools/list`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ListedTool {
    /// The tool's name.
    pub name: String,
    /// The description for models.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of the arguments.
    #[serde(rename = "inputSchema", default)]
    pub input_schema: Value,
    /// The annotations, such as `readOnlyHint` and `destructiveHint`.
    #[serde(default)]
    pub annotations: Map<String, Value>,
    /// Metadata for particular clients, such as `anthropic/maxResultSizeChars`.
    #[serde(rename = "_meta", default)]
    pub meta: Map<String, Value>,
}

impl Client {
    /// Connects to the adapter and performs the handshake.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the adapter does not answer as an MCP server.
    pub async fn connect(adapter: &Adapter) -> Result<Self> {
        let mut client = Self::connect_without_handshake(adapter);
        let hello = json!({
            "protocolVersion": MCP_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "mcp-aql-testing", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = client.request("initialize", hello).await?;
        client.info = answer.get("result").cloned().unwrap_or_default();
        client.notify("notifications/initialized", json!({})).await?;
        Ok(client)
    }

    /// Connects without a handshake, like clients of MCP 2026-07-28.
    pub fn connect_without_handshake(adapter: &Adapter) -> Self {
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        let adapter = adapter.clone();
        let server = spawn(async move { adapter.serve(theirs).await });
        let (read, write) = tokio::io::split(ours);
        let inbox = Arc::default();
        let reader = spawn(receive(read, Arc::clone(&inbox)));
        Self {
            writer: AsyncMutex::new(write),
            next_id: AtomicU64::new(1),
            inbox,
            reader,
            server: Some(server),
            info: Value::Null,
        }
    }

    /// Returns the server's description: `serverInfo`, `capabilities` and `instructions`.
    pub fn server_info(&self) -> &Value {
        &self.info
    }

    /// Lists the tools.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the answer is not a list of tools.
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>> {
        let answer = self.request("tools/list", json!({})).await?;
        let tools = answer.pointer("/result/tools").cloned().unwrap_or_default();
        serde_json::from_value(tools).map_err(Error::transport)
    }

    /// Calls an operation through a tool.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the tool does not exist or the connection is closed. A failed operation is
    /// returned as a result, not as an error.
    pub async fn call(
        &self,
        tool: &str,
        operation: &str,
        params: Value,
    ) -> Result<OperationResult> {
        let arguments = json!({ "operation": operation, "params": params });
        let answer = self.call_raw(tool, arguments).await?;
        match answer.pointer("/result/content/0/text").and_then(Value::as_str) {
            Some(text) => Ok(OperationResult::from_json(text)),
            None => Err(Error::transport(answer.to_string())),
        }
    }

    /// Calls a tool with any arguments. Use this to test malformed calls. Returns the complete JSON-RPC answer:
    /// `result` with `content` and `isError`, or `error`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the connection is closed.
    pub async fn call_raw(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the connection is closed.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value> {
        let (id, answer) = self.start_request(method, params).await?;
        answer.await.map_err(|_| gone(method, id))
    }

    /// Sends a request without waiting for its answer. Returns the id of the request, for example for
    /// `notifications/cancelled`, and the receiver of the answer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the connection is closed.
    pub async fn start_request(
        &self,
        method: &str,
        params: Value,
    ) -> Result<(u64, oneshot::Receiver<Value>)> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        {
            let mut inbox = lock(&self.inbox);
            if inbox.closed {
                return Err(gone(method, id));
            }
            inbox.waiting.insert(id, sender);
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&message).await?;
        Ok((id, receiver))
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Transport`] if the connection is closed.
    pub async fn notify(&self, method: &str, params: Value) -> Result {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// Returns the notifications received since the last call of this method.
    pub fn take_notifications(&self) -> Vec<Value> {
        std::mem::take(&mut lock(&self.inbox).notifications)
    }

    /// Closes the connection and waits until the adapter has ended it.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Adapter::serve`].
    pub async fn close(mut self) -> Result {
        self.writer.get_mut().shutdown().await?;
        match self.server.take() {
            Some(server) => server.await.map_err(Error::transport)?,
            None => Ok(()),
        }
    }

    async fn send(&self, message: &Value) -> Result {
        let mut line = message.to_string();
        line.push('\n');
        let mut writer = self.writer.lock().await;
        writer.write_all(line.as_bytes()).await.map_err(Error::transport)?;
        writer.flush().await.map_err(Error::transport)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The reader task owns the other half of the stream. The stream closes once both halves are dropped.
        self.reader.abort();
    }
}

/// Dispatches incoming messages until the server closes the connection.
async fn receive(read: ReadHalf<DuplexStream>, inbox: Arc<Mutex<Inbox>>) {
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let mut inbox = lock(&inbox);
        if message.get("method").is_some() {
            inbox.notifications.push(message);
        } else if let Some(sender) =
            message.get("id").and_then(Value::as_u64).and_then(|id| inbox.waiting.remove(&id))
        {
            // The receiver may already be dropped.
            let _ = sender.send(message);
        }
    }
    let mut inbox = lock(&inbox);
    inbox.closed = true;
    inbox.waiting.clear();
}

fn gone(method: &str, id: u64) -> Error {
    Error::transport(format!("the connection ended before request {id}, {method}, was answered"))
}
