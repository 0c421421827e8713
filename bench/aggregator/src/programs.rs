//! Runs the aggregator and the servers as child processes that speak MCP over pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mcp_aql_aggregator::plain::TOOL;
use serde_json::{Value, json};

use crate::Result;

/// The search query. Every result contains all of its words, and hundreds of others.
pub const QUERY: &str = "refund of a cancelled ferry";

/// Returns a configuration with one server per script. The program `server` runs all of them.
pub fn configuration<'s>(server: &Path, scripts: impl IntoIterator<Item = &'s str>) -> String {
    let servers = scripts.into_iter().enumerate().map(|(at, script)| {
        let how = json!({ "command": server, "env": { mcp_aql_upstreams::SCRIPT: script } });
        (format!("s{at}"), how)
    });
    json!({ "mcpServers": servers.collect::<serde_json::Map<_, _>>() }).to_string()
}

/// The client's `initialize` request.
pub const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);
/// The notification that completes the handshake.
pub const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// Returns the query as a request line for the aggregator.
pub fn query() -> String {
    call(TOOL)
}

/// Returns the query as a request line for a server.
pub(crate) fn search() -> String {
    call("search_docs")
}

fn call(tool: &str) -> String {
    let params = json!({ "name": tool, "arguments": { "query": QUERY } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
        + "\n"
}

/// Parses the aggregator's reply to a query. Returns the reply and the status of each server, in
/// order.
///
/// # Errors
///
/// Returns an error if the line is not a reply to a query.
pub fn answer(line: &str) -> Result<(Value, Vec<String>)> {
    let mut reply: Value = serde_json::from_str(line)?;
    let wrong = || format!("no answer: {line}");
    let answer = reply.pointer_mut("/result/structuredContent").ok_or_else(wrong)?.take();
    let servers =
        answer.pointer("/metadata/servers").and_then(Value::as_array).ok_or_else(wrong)?;
    let status = |server: &Value| server.get("status").and_then(Value::as_str).map(str::to_owned);
    let statuses = servers.iter().filter_map(status).collect();
    Ok((answer, statuses))
}

/// A child process that speaks MCP.
pub(crate) struct Program {
    child: Child,
    /// The standard input. It is `None` while the program is being shut down.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Program {
    /// Starts the aggregator.
    pub(crate) fn aggregator(program: &Path, configuration: &str) -> Result<Self> {
        Self::start(Command::new(program).arg(configuration))
    }

    /// Starts a single server.
    pub(crate) fn server(program: &Path, script: &str) -> Result<Self> {
        Self::start(Command::new(program).env(mcp_aql_upstreams::SCRIPT, script))
    }

    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no pipe")?;
        let output = BufReader::with_capacity(1 << 18, output);
        let input = child.stdin.take();
        let mut program = Self { child, input, output, line: String::new() };
        program.send(INITIALIZE)?;
        let greeting = program.receive()?;
        if !greeting.contains("\"serverInfo\"") {
            return Err(format!("not initialized: {greeting}").into());
        }
        program.send(INITIALIZED)?;
        Ok(program)
    }

    pub(crate) fn send(&mut self, line: &str) -> Result {
        Ok(self.input.as_mut().ok_or("the program has ended")?.write_all(line.as_bytes())?)
    }

    /// Reads the next line of output.
    pub(crate) fn receive(&mut self) -> Result<&str> {
        self.line.clear();
        if self.output.read_line(&mut self.line)? == 0 {
            return Err("the program has ended".into());
        }
        Ok(&self.line)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
