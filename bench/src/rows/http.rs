//! Measures HTTP calls to child processes.
//!
//! The client must not distort the result, so it does little: requests are prepared bytes, and each response body is
//! scanned once.

use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::Setup;
use crate::Result;
use crate::measure::{in_turns, runtime};
use crate::records::TASK;
use crate::server::{HttpServer, INITIALIZE, INITIALIZED, Side, line, nanos_on_processor};
use crate::table::{Outcome, Row, Target, Unit};

/// Maximum latency of a reply, in nanoseconds. A delayed TCP acknowledgment would add 40 ms, so this detects it.
const MAX_LATENCY_NANOS: f64 = 35e6;

/// The mode of the HTTP transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A session per connection, with replies as server-sent events: MCP versions up to 2025-11-25.
    Session,
    /// Independent requests without a session: MCP version 2026-07-28.
    Stateless,
}

impl Form {
    /// Builds a call in this mode.
    fn call(
        self,
        side: Side,
        operation: &str,
        params: Value,
        headers: &str,
        host: &str,
    ) -> Vec<u8> {
        let mut call = side.tool(operation, params);
        let mut headers = headers.to_owned();
        if let (Self::Stateless, Some(call)) = (self, call.as_object_mut()) {
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
            headers = format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
            );
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            call.insert("_meta".to_owned(), meta);
        }
        post(host, &headers, &line(1, "tools/call", &call))
    }
}

fn post(host: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A persistent connection.
struct Connection {
    stream: TcpStream,
    /// Received bytes, not parsed yet.
    come: Vec<u8>,
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, come: Vec::new(), head: Vec::new(), body: Vec::new() })
    }

    /// Sends a request. Reads the complete response into `head` and `body`.
    async fn ask(&mut self, request: &[u8]) -> Result {
        self.stream.write_all(request).await?;
        let end = self.find(b"\r\n\r\n").await?;
        self.head.clear();
        self.head.extend(self.come.drain(..end + 4));
        self.body.clear();
        if !self.head.starts_with(b"HTTP/1.1 2") {
            return Err(format!("refused: {}", String::from_utf8_lossy(&self.head)).into());
        }
        if self.header("transfer-encoding").is_some() {
            self.read_chunks().await
        } else {
            let length = self.header("content-length").unwrap_or("0").parse()?;
            self.take(length).await
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.split(|byte| *byte == b'\n');
        let value = lines.find_map(|line| {
            let (found, value) = line.split_at_checked(name.len())?;
            found.eq_ignore_ascii_case(name.as_bytes()).then_some(value)?.strip_prefix(b": ")
        });
        std::str::from_utf8(value?.trim_ascii_end()).ok()
    }

    async fn read_chunks(&mut self) -> Result {
        loop {
            let end = self.find(b"\r\n").await?;
            let size: Vec<u8> = self.come.drain(..end + 2).collect();
            let size = usize::from_str_radix(std::str::from_utf8(&size)?.trim(), 16)?;
            self.take(size).await?;
            self.find(b"\r\n").await?;
            self.come.drain(..2);
            if size == 0 {
                return Ok(());
            }
        }
    }

    /// Moves `count` received bytes to the body.
    async fn take(&mut self, count: usize) -> Result {
        while self.come.len() < count {
            self.more().await?;
        }
        self.body.extend(self.come.drain(..count));
        Ok(())
    }

    /// Waits until `mark` was received, and returns its position in the buffer.
    async fn find(&mut self, mark: &[u8]) -> Result<usize> {
        loop {
            if let Some(place) = memchr::memmem::find(&self.come, mark) {
                return Ok(place);
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result {
        match self.stream.read_buf(&mut self.come).await? {
            0 => Err("the connection was closed".into()),
            _ => Ok(()),
        }
    }

    /// Returns the JSON reply in the body: the whole body, or the data of the last event.
    fn reply(&self) -> Result<&[u8]> {
        let line = self.body.rsplit(|byte| *byte == b'\n').find_map(|line| match line {
            [b'{', ..] => Some(line),
            _ => line.strip_prefix(b"data: ").filter(|data| data.starts_with(b"{")),
        });
        line.ok_or_else(|| format!("no reply: {}", String::from_utf8_lossy(&self.body)).into())
    }
}

/// A connection with its prepared request and the expected reply.
struct Caller {
    connection: Connection,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Caller {
    async fn new(form: Form, side: Side, address: &str) -> Result<Self> {
        let mut connection = Connection::open(address).await?;
        let mut headers = String::new();
        if form == Form::Session {
            connection.ask(&post(address, "", INITIALIZE)).await?;
            let session = connection.header("mcp-session-id").ok_or("no session")?;
            headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
            connection.ask(&post(address, &headers, INITIALIZED)).await?;
        }
        let call = |operation, params| form.call(side, operation, params, &headers, address);
        connection.ask(&call("create_task", serde_json::from_str(TASK)?)).await?;
        side.result(&serde_json::from_slice(connection.reply()?)?)?;
        let params = json!({ "task_id": 1, "archived": false, "newer_than": 0 });
        let request = call("get_task", params);
        connection.ask(&request).await?;
        let reply = connection.reply()?.to_vec();
        let record = side.result(&serde_json::from_slice(&reply)?)?;
        if record.get("task_id") != Some(&json!(1)) {
            return Err(format!("a wrong record: {record}").into());
        }
        Ok(Self { connection, request, reply })
    }

    async fn call(&mut self) -> Result {
        self.connection.ask(&self.request).await?;
        let reply = self.connection.reply()?;
        if reply != self.reply {
            return Err(format!("another reply: {}", String::from_utf8_lossy(reply)).into());
        }
        Ok(())
    }
}

/// A server with the callers connected to it.
struct Served {
    callers: Vec<Caller>,
    server: HttpServer,
}

impl Served {
    async fn new(form: Form, side: Side, setup: &Setup) -> Result<Self> {
        let server = HttpServer::start(side, &setup.programs)?;
        let mut callers = Vec::new();
        for _ in 0..setup.scale.connections {
            callers.push(Caller::new(form, side, &server.address).await?);
        }
        Ok(Self { callers, server })
    }

    /// Runs calls on all connections at once. Returns the calls per second.
    async fn all_at_once(&mut self, calls: usize) -> Result<f64> {
        let connections = self.callers.len();
        let each = calls.div_ceil(connections);
        let clock = Instant::now();
        let mut tasks = JoinSet::new();
        for mut caller in self.callers.drain(..) {
            tasks.spawn(async move {
                for _ in 0..each {
                    caller.call().await?;
                }
                Ok::<_, crate::Error>(caller)
            });
        }
        while let Some(caller) = tasks.join_next().await {
            self.callers.push(caller??);
        }
        Ok((each * connections) as f64 / clock.elapsed().as_secs_f64())
    }

    /// Runs calls on all connections at once. Returns the server's processor time per call, in nanoseconds.
    async fn processor_time(&mut self, calls: usize) -> Result<f64> {
        let before = nanos_on_processor(self.server.id())?;
        self.all_at_once(calls).await?;
        Ok((nanos_on_processor(self.server.id())? - before) / calls as f64)
    }

    /// Runs calls one after another on a single connection. Returns the longest latency, in nanoseconds.
    async fn longest(&mut self, calls: usize) -> Result<f64> {
        let caller = self.callers.first_mut().ok_or("nobody is connected")?;
        let mut longest = 0.0_f64;
        for _ in 0..calls {
            let clock = Instant::now();
            caller.call().await?;
            longest = longest.max(clock.elapsed().as_nanos() as f64);
        }
        Ok(longest)
    }
}

pub(super) fn session(setup: &Setup) -> Result<Outcome> {
    rows(setup, Form::Session, "http-session", "HTTP, sessions and events")
}

pub(super) fn stateless(setup: &Setup) -> Result<Outcome> {
    rows(setup, Form::Stateless, "http-stateless", "HTTP, 2026-07-28")
}

fn rows(setup: &Setup, form: Form, name: &str, what: &str) -> Result<Outcome> {
    let runtime: &Runtime = &runtime()?;
    let mut ours = runtime.block_on(Served::new(form, Side::Ours, setup))?;
    let mut peer = runtime.block_on(Served::new(form, Side::Peer, setup))?;
    let (calls, connections) = (setup.scale.requests, setup.scale.connections);
    let throughput = in_turns(
        setup.scale.rounds,
        || runtime.block_on(ours.all_at_once(calls)),
        || runtime.block_on(peer.all_at_once(calls)),
    )?;
    let mut rows = vec![Row {
        name: name.to_owned(),
        what: format!("{what}, {connections} connections; rmcp"),
        unit: Unit::PerSecond,
        turns: throughput,
        target: Target::AtLeast(3.5),
    }];
    // Only Linux reports the processor time of a process.
    if nanos_on_processor(std::process::id()).is_ok() {
        rows.push(Row::of_times(
            format!("{name}-processor"),
            format!("{what}, processor time of a call; rmcp"),
            in_turns(
                setup.scale.rounds,
                || runtime.block_on(ours.processor_time(calls)),
                || runtime.block_on(peer.processor_time(calls)),
            )?,
            Target::AtMost(0.5),
        ));
    }
    let calls = calls / 8;
    let longest = in_turns(
        setup.scale.rounds,
        || runtime.block_on(ours.longest(calls)),
        || runtime.block_on(peer.longest(calls)),
    )?;
    rows.push(Row::of_times(
        format!("{name}-longest"),
        format!("{what}, longest of {calls} calls; rmcp"),
        longest,
        Target::Below(MAX_LATENCY_NANOS),
    ));
    Ok(Outcome::Rows(rows))
}
