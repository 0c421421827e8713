//! Runs the two programs as child processes and exchanges lines with them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::Result;
use crate::records::TASK;

/// The first line that a client sends.
pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);
/// The second line that a client sends.
pub(crate) const INITIALIZED: &str =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// The two programs with the same fifty operations.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `records_aql`.
    pub ours: PathBuf,
    /// `records_rmcp`.
    pub peer: PathBuf,
}

/// One of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Peer,
}

impl Side {
    pub(crate) fn program(self, programs: &Programs) -> &Path {
        match self {
            Self::Ours => &programs.ours,
            Self::Peer => &programs.peer,
        }
    }

    /// Returns the params of a tool call, for the peer and for mcp-aql:
    ///
    /// ```json
    /// { "name": "get_task", "arguments": { "task_id": 1 } }
    /// { "name": "mcp_aql_read", "arguments": { "operation": "get_task", "params": { "task_id": 1 } } }
    /// ```
    pub(crate) fn tool(self, operation: &str, params: Value) -> Value {
        match self {
            Self::Peer => json!({ "name": operation, "arguments": params }),
            Self::Ours => {
                let (verb, _) = operation.split_once('_').unwrap_or((operation, ""));
                let family = if matches!(verb, "get" | "list") { "read" } else { verb };
                json!({
                    "name": format!("mcp_aql_{family}"),
                    "arguments": { "operation": operation, "params": params },
                })
            }
        }
    }

    /// Returns the record or the list in a reply, without the framework's envelope.
    pub(crate) fn result(self, reply: &Value) -> Result<Value> {
        let wrong = || format!("a wrong reply: {reply}");
        if reply.pointer("/result/isError") == Some(&Value::Bool(true)) {
            return Err(wrong().into());
        }
        let text = reply.pointer("/result/content/0/text").and_then(Value::as_str);
        let text: Value = serde_json::from_str(text.ok_or_else(wrong)?)?;
        match self {
            Self::Peer => Ok(text),
            Self::Ours if text.get("success") == Some(&Value::Bool(true)) => {
                let data = text.get("data").and_then(Value::as_object).ok_or_else(wrong)?;
                Ok(data.values().next().cloned().ok_or_else(wrong)?)
            }
            Self::Ours => Err(wrong().into()),
        }
    }
}

/// Formats a request as a line.
pub(crate) fn line(id: usize, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
}

/// Returns the processor time of a process in nanoseconds, in user and kernel mode, for all of its threads.
pub(crate) fn nanos_on_processor(process: u32) -> Result<f64> {
    let mut total = 0.0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let times = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        total += times.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(total)
}

/// A program that serves MCP over pipes.
pub(crate) struct Server {
    side: Side,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    /// Starts the program and initializes MCP.
    pub(crate) fn start(side: Side, programs: &Programs) -> Result<Self> {
        let mut child = command(side.program(programs))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err("no pipes".into());
        };
        let output = BufReader::with_capacity(1 << 18, output);
        let mut server = Self { side, child, input, output, line: String::new() };
        let answer = server.ask(INITIALIZE)?;
        if !answer.contains("\"serverInfo\"") {
            return Err(format!("not initialized: {answer}").into());
        }
        Ok(server)
    }

    /// Starts the program and stores a task in it.
    pub(crate) fn with_task(side: Side, programs: &Programs) -> Result<Self> {
        let mut server = Self::start(side, programs)?;
        server.input.write_all(INITIALIZED.as_bytes())?;
        server.call("create_task", serde_json::from_str(TASK)?)?;
        Ok(server)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line and reads the next one.
    pub(crate) fn ask(&mut self, request: &str) -> Result<&str> {
        self.input.write_all(request.as_bytes())?;
        self.line.clear();
        if self.output.read_line(&mut self.line)? == 0 {
            return Err("the server has exited".into());
        }
        Ok(&self.line)
    }

    /// Calls an operation and returns its result.
    pub(crate) fn call(&mut self, operation: &str, params: Value) -> Result<Value> {
        let request = line(1, "tools/call", &self.side.tool(operation, params));
        let side = self.side;
        side.result(&serde_json::from_str(self.ask(&request)?)?)
    }

    /// Sends lines without waiting. You can read the responses with [`receive`](Self::receive).
    pub(crate) fn send(&mut self, lines: &str) -> Result {
        Ok(self.input.write_all(lines.as_bytes())?)
    }

    /// Reads one or more complete lines.
    pub(crate) fn receive(&mut self, text: &mut Vec<u8>) -> Result {
        text.clear();
        loop {
            let come = self.output.fill_buf()?;
            if come.is_empty() {
                return Err("the server has exited".into());
            }
            let end = come.iter().rposition(|byte| *byte == b'\n').map(|last| last + 1);
            let taken = end.unwrap_or(come.len());
            text.extend(come.iter().take(taken));
            self.output.consume(taken);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that serves HTTP on a free port.
pub(crate) struct HttpServer {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl HttpServer {
    pub(crate) fn start(side: Side, programs: &Programs) -> Result<Self> {
        let mut child = command(side.program(programs))
            .args(["serve", "--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().ok_or("no pipe")?;
        let mut server = Self { child, address: String::new() };
        let mut stderr = BufReader::new(stderr);
        let mut told = String::new();
        stderr.read_line(&mut told)?;
        let address = told.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
        server.address = address.ok_or_else(|| format!("no address: {told}"))?.0.to_owned();
        // Keep reading standard error, because a full pipe would block the program.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        Ok(server)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds the command that runs a program. Removes variables that would configure the adapter.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ["MCP_AQL_LOG", "RUST_LOG", "MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE"] {
        command.env_remove(name);
    }
    command.env_remove("MCP_AQL_TOOL_PREFIX");
    command
}
