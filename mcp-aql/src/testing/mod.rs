//! For an adapter's own tests: an MCP client in memory.
//!
//! It talks to the adapter as a client over standard input and output would, line by line, through
//! everything that lies in between.
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
/// The conformance runner, for the settings of a run and what its report holds.
#[cfg(feature = "conformance")]
#[doc(no_inline)]
pub use mcp_aql_conformance as conformance;

use crate::adapter::Adapter;
use crate::main_error::{Error, Result};
use crate::response::OperationResult;
use crate::sync::lock;

/// The version of MCP that the client opens with.
const MCP_VERSION: &str = "2025-11-25";
/// Bytes on their way in each direction.
const BUFFER: usize = 64 << 10;

/// An MCP client of one adapter, with a connection and a session of its own.
///
/// Dropping it is how a client vanishes; [`close`](Self::close) is how one leaves.
#[derive(Debug)]
pub struct Client {
    writer: AsyncMutex<WriteHalf<DuplexStream>>,
    next_id: AtomicU64,
    inbox: Arc<Mutex<Inbox>>,
    reader: JoinHandle<()>,
    server: Option<JoinHandle<Result>>,
    info: Value,
}

/// What came in and was not picked up yet.
#[derive(Debug, Default)]
struct Inbox {
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    notifications: Vec<Value>,
    /// The server closed the connection.
    closed: bool,
}

/// A tool as a client sees it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ListedTool {
    /// The name by which it is called.
    pub name: String,
    /// What a model reads.
    #[serde(default)]
    pub description: String,
    /// What its arguments look like, as a JSON schema.
    #[serde(rename = "inputSchema", default)]
    pub input_schema: Value,
    /// `readOnlyHint`, `destructiveHint` and so on.
    #[serde(default)]
    pub annotations: Map<String, Value>,
}

impl Client {
    /// Connects to the adapter, and shakes hands.
    ///
    /// # Errors
    /// [`Error::Transport`] when the adapter does not answer as an MCP server does.
    pub async fn connect(adapter: &Adapter) -> Result<Self> {
        let mut client = Self::connect_raw(adapter);
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

    /// Connects without a handshake, as clients of MCP 2026-07-28 do.
    pub fn connect_raw(adapter: &Adapter) -> Self {
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let adapter = adapter.clone();
        let server = tokio::spawn(async move { adapter.serve(theirs).await });
        let (read, write) = tokio::io::split(ours);
        let inbox = Arc::default();
        let reader = tokio::spawn(receive(read, Arc::clone(&inbox)));
        Self {
            writer: AsyncMutex::new(write),
            next_id: AtomicU64::new(1),
            inbox,
            reader,
            server: Some(server),
            info: Value::Null,
        }
    }

    /// What the server said of itself: `serverInfo`, `capabilities`, `instructions`.
    pub fn server_info(&self) -> &Value {
        &self.info
    }

    /// The tools on offer.
    ///
    /// # Errors
    /// [`Error::Transport`] when there is no such answer.
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>> {
        let answer = self.request("tools/list", json!({})).await?;
        let tools = answer.pointer("/result/tools").cloned().unwrap_or_default();
        serde_json::from_value(tools).map_err(Error::transport)
    }

    /// Calls an operation through a tool.
    ///
    /// # Errors
    /// [`Error::Transport`] when the tool does not exist or the connection is gone. An operation
    /// that fails is a result like any other.
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

    /// Calls a tool with these arguments, whatever they are. Gives the whole JSON-RPC answer:
    /// `result` with `content` and `isError`, or `error`.
    ///
    /// # Errors
    /// [`Error::Transport`] when the connection is gone.
    pub async fn call_raw(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// [`Error::Transport`] when the connection is gone.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value> {
        let (id, answer) = self.start(method, params).await?;
        answer.await.map_err(|_| gone(method, id))
    }

    /// Sends a request; its answer comes through the receiver. The number is its id, for
    /// `notifications/cancelled`.
    ///
    /// # Errors
    /// [`Error::Transport`] when the connection is gone.
    pub async fn start(
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
    /// [`Error::Transport`] when the connection is gone.
    pub async fn notify(&self, method: &str, params: Value) -> Result {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// The notifications that came since this was last asked.
    pub fn take_notifications(&self) -> Vec<Value> {
        std::mem::take(&mut lock(&self.inbox).notifications)
    }

    /// Leaves, and waits until the adapter is done with this connection.
    ///
    /// # Errors
    /// Whatever [`Adapter::serve`] ended with.
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
        // Without the reader the stream has no owner but the writer, which goes with us.
        self.reader.abort();
    }
}

/// Sorts what comes in, until the server hangs up.
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
            // Who asked may have stopped waiting.
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
