//! Tests of streamable HTTP on the loopback interface, with rmcp's client and with hand-written requests.

mod access;
#[cfg(feature = "safety")]
mod agents;
mod approvals;
mod authentication;
mod batches;
mod bodies;
mod bounds;
mod callers;
mod connections;
#[cfg(feature = "query")]
mod cursors;
mod direct;
mod eviction;
mod keep_alive;
mod probes;
mod sessions;
mod stream_resumption;
mod tasks;

use std::net::SocketAddr;
use std::time::Duration;

use mcp_aql::HttpOptions;
use mcp_aql::transport::ServeHttp as _;
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

type Client = RunningService<RoleClient, ()>;

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    done: JoinHandle<mcp_aql::Result>,
}

async fn start(builder: mcp_aql::AdapterBuilder, options: HttpOptions) -> Server {
    let adapter = builder.without_config().build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let done = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        adapter.serve_listener(listener, options, stopped).await
    });
    Server { address, stop, done }
}

impl Server {
    async fn connect(&self) -> Client {
        let url = format!("http://{}/mcp", self.address);
        ().serve(StreamableHttpClientTransport::from_uri(url)).await.unwrap()
    }

    /// Opens a session with this version of MCP.
    async fn session(&self, version: &str) -> String {
        let hello = hello().replace("2025-11-25", version);
        let (_, answer) = self.post(&[], hello).await;
        assert!(answer.contains(&format!("\"protocolVersion\":\"{version}\"")), "{answer}");
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert_eq!(self.post(&[("Mcp-Session-Id", id)], ready).await.0, 202);
        id.to_owned()
    }

    /// Sends a hand-written request. Returns the status and the whole answer.
    async fn post(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> (u16, String) {
        self.send("POST", headers, body).await
    }

    /// Like [`post`](Self::post), with another method.
    async fn send(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> (u16, String) {
        self.send_in_pieces(&format!("{method} /mcp"), headers, &[body.as_ref()]).await
    }

    /// Like [`send`](Self::send), with a method and a path. There is a pause before each piece of the body after the
    /// first. A header with an empty value is not sent.
    async fn send_in_pieces(
        &self,
        target: &str,
        headers: &[(&str, &str)],
        pieces: &[&[u8]],
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = format!("{target} HTTP/1.1\r\n");
        let own = [
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Connection", "close"),
        ];
        let given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        let all = own.iter().filter(|(name, _)| !given(name)).chain(headers);
        for (name, value) in all.filter(|(_, value)| !value.is_empty()) {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !given("Host") {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        request.push_str(&format!("Content-Length: {length}\r\n\r\n"));
        stream.write_all(request.as_bytes()).await.unwrap();
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            // A server that rejects a request may close the connection before it has received the whole body.
            let _ = stream.write_all(piece).await;
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_default(), answer)
    }
}

fn request(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

/// Returns the reply in a tool's result.
fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

/// Runs an operation without parameters.
async fn call(client: &Client, operation: &str) -> Value {
    let tool = match operation.split('_').next() {
        Some("execute") => "mcp_aql_execute",
        _ => "mcp_aql_read",
    };
    let request = request(tool, &json!({ "operation": operation }));
    serde_json::from_str(text(&client.call_tool(request).await.unwrap())).unwrap()
}

fn hello() -> String {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
    .to_string()
}

/// Returns a READ in the form of MCP 2026-07-28: its headers and body.
fn newest(operation: &str) -> ([(&'static str, &'static str); 3], String) {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": operation },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mcp_aql_read"),
    ];
    (headers, body.to_string())
}
