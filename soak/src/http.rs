//! A minimal HTTP client. It costs little, so the measurements show the costs of the adapter.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::Fault;

/// A persistent connection.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
    pub(crate) address: SocketAddr,
}

/// A complete response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    /// The value of the header `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Parses the JSON-RPC message: the body, or the data of the last event.
    ///
    /// ```text
    /// id: 7
    /// data: {"jsonrpc":"2.0","id":7,"result":{"content":[]}}
    /// ```
    pub(crate) fn message(&self) -> Result<Value, Fault> {
        let text = std::str::from_utf8(&self.body)?;
        let data = text.lines().rev().find_map(|line| {
            line.strip_prefix("data:").map(str::trim).filter(|data| !data.is_empty())
        });
        Ok(serde_json::from_str(data.unwrap_or(text))?)
    }

    /// Returns the operation's reply in the response to this request.
    pub(crate) fn reply(&self, id: u64) -> Result<Value, Fault> {
        let message = self.message().map_err(|error| {
            format!("{} {error}: {}", self.status, String::from_utf8_lossy(&self.body))
        })?;
        if self.status != 200 || message["id"] != id {
            return Err(format!("{} and {message} for request {id}", self.status).into());
        }
        let text = message["result"]["content"][0]["text"].as_str();
        Ok(serde_json::from_str(text.ok_or_else(|| format!("no reply: {message}"))?)?)
    }
}

/// Builds the JSON-RPC request of a call with these arguments. The operation's verb determines the tool:
///
/// ```json
/// { "jsonrpc": "2.0", "id": 1, "method": "tools/call",
///   "params": { "name": "mcp_aql_read", "arguments": { "operation": "get_left", "params": {} } } }
/// ```
pub(crate) fn tool_call(id: u64, arguments: Value) -> Value {
    let family = match arguments["operation"].as_str().and_then(|name| name.split('_').next()) {
        Some("get") => "read",
        Some("create") => "create",
        Some("delete") => "delete",
        _ => "execute",
    };
    let params = json!({ "name": format!("mcp_aql_{family}"), "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// Builds the HTTP request of a call. With `None`, the call has no session, as in MCP 2026-07-28.
pub(crate) fn post_call(address: SocketAddr, session: Option<&str>, mut call: Value) -> Vec<u8> {
    let headers = match session {
        Some(session) => format!("Mcp-Session-Id: {session}\r\n"),
        None => {
            call["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "soak", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let tool = call["params"]["name"].as_str().unwrap_or_default();
            format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            )
        }
    };
    request(address, "POST", &headers, &call.to_string())
}

/// Builds the HTTP request that calls an operation.
pub(crate) fn call(
    address: SocketAddr,
    session: Option<&str>,
    id: u64,
    operation: &str,
    params: Value,
) -> Vec<u8> {
    let arguments = json!({ "operation": operation, "params": params });
    post_call(address, session, tool_call(id, arguments))
}

pub(crate) fn request(address: SocketAddr, method: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn initialize(address: SocketAddr) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "soak", "version": "1" },
    } });
    request(address, "POST", "", &body.to_string())
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Fault> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), address })
    }

    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Answer, Fault> {
        self.stream.write_all(request).await?;
        self.answer().await
    }

    pub(crate) async fn call(
        &mut self,
        session: Option<&str>,
        id: u64,
        operation: &str,
        params: Value,
    ) -> Result<Value, Fault> {
        let request = call(self.address, session, id, operation, params);
        self.send(&request).await?.reply(id)
    }

    /// Initializes MCP and returns the HTTP session id.
    pub(crate) async fn open_session(&mut self) -> Result<String, Fault> {
        let answer = self.send(&initialize(self.address)).await?;
        let name = answer.session.clone().filter(|_| answer.status == 200);
        let name = name.ok_or_else(|| {
            format!("no session: {} {}", answer.status, String::from_utf8_lossy(&answer.body))
        })?;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let headers = format!("Mcp-Session-Id: {name}\r\n");
        let answer = self.send(&request(self.address, "POST", &headers, ready)).await?;
        expect(&answer, 202)?;
        Ok(name)
    }

    /// Closes a session. Returns `true` if it was still open.
    pub(crate) async fn close_session(&mut self, name: &str) -> Result<bool, Fault> {
        let headers = format!("Mcp-Session-Id: {name}\r\n");
        let answer = self.send(&request(self.address, "DELETE", &headers, "")).await?;
        if answer.status == 404 {
            return Ok(false);
        }
        expect(&answer, 202).map(|()| true)
    }

    /// Reads a complete response.
    pub(crate) async fn answer(&mut self) -> Result<Answer, Fault> {
        let mut answer = Answer { status: 0, session: None, retry_after: None, body: Vec::new() };
        let (mut length, mut chunked) = (0, false);
        let mut line = String::new();
        loop {
            line.clear();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err("the connection ended before an answer".into());
            }
            let text = line.trim_end();
            if let Some(status) = text.strip_prefix("HTTP/1.1 ") {
                answer.status = status.split(' ').next().unwrap_or_default().parse()?;
            } else if let Some((name, value)) = text.split_once(':') {
                match (name.to_ascii_lowercase().as_str(), value.trim()) {
                    ("content-length", value) => length = value.parse()?,
                    ("transfer-encoding", value) => chunked = value == "chunked",
                    ("retry-after", value) => answer.retry_after = value.parse().ok(),
                    ("mcp-session-id", value) => answer.session = Some(value.to_owned()),
                    _ => {}
                }
            } else if text.is_empty() {
                break;
            }
        }
        loop {
            if chunked {
                line.clear();
                self.stream.read_line(&mut line).await?;
                length = usize::from_str_radix(line.trim_end(), 16)?;
            }
            let start = answer.body.len();
            answer.body.resize(start + length, 0);
            if let Some(room) = answer.body.get_mut(start..) {
                self.stream.read_exact(room).await?;
            }
            if !chunked {
                return Ok(answer);
            }
            self.stream.read_line(&mut line).await?;
            if length == 0 {
                return Ok(answer);
            }
        }
    }
}

fn expect(answer: &Answer, status: u16) -> Result<(), Fault> {
    if answer.status == status {
        return Ok(());
    }
    Err(format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)).into())
}
