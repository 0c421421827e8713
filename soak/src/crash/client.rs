//! An MCP client for an adapter. It expects that the adapter is killed at any moment.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::Fault;
use crate::process::Process;

/// Maximum time to wait for a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A session with an adapter over its standard input and output.
pub(super) struct Client {
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    id: u64,
}

/// The reply of an operation.
#[derive(Debug)]
pub(super) struct Reply(Value);

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        self.0["success"] == true
    }

    pub(super) fn data(&self) -> &Value {
        &self.0["data"]
    }

    pub(super) fn code(&self) -> &str {
        self.0["error"]["code"].as_str().unwrap_or_default()
    }

    /// Returns a detail of the error, or an empty string.
    pub(super) fn detail(&self, name: &str) -> &str {
        self.0["error"]["details"][name].as_str().unwrap_or_default()
    }

    /// Returns an error that ends the run unless the condition holds.
    pub(super) fn expect(&self, holds: bool, what: &str) -> Result<(), Fault> {
        if holds { Ok(()) } else { Err(format!("{what}: {}", self.0).into()) }
    }
}

/// Starts an adapter whose state is in this folder.
pub(super) fn start(folder: &Path) -> Result<Process, Fault> {
    let folder = folder.to_str().ok_or("the name of the folder is not valid Unicode")?;
    Process::start(&["gated".to_owned(), folder.to_owned()])
}

impl Client {
    /// Takes the pipes of the process. The adapter exits when they are closed.
    pub(super) fn of(process: &mut Process) -> Result<Self, Fault> {
        let input = process.child.stdin.take().ok_or("no standard input")?;
        let output = process.child.stdout.take().ok_or("no standard output")?;
        Ok(Self { input, lines: BufReader::new(output).lines(), id: 0 })
    }

    /// Initializes MCP.
    pub(super) async fn connect(&mut self) -> Result<(), Fault> {
        self.input.write_all(crate::stdio::hello().as_bytes()).await?;
        self.answer().await?;
        Ok(())
    }

    pub(super) async fn call(&mut self, operation: &str, params: Value) -> Result<Reply, Fault> {
        let family = match operation {
            "record_execution_step" | "verify_challenge" => "create",
            "get_execution" => "read",
            "delete_thing" => "delete",
            _ => "execute",
        };
        self.id += 1;
        let arguments = json!({ "operation": operation, "params": params });
        let params = json!({ "name": format!("mcp_aql_{family}"), "arguments": arguments });
        let call = json!({
            "jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params,
        });
        self.input.write_all(format!("{call}\n").as_bytes()).await?;
        let answer = self.answer().await?;
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.ok_or_else(|| format!("no reply: {answer}"))?;
        Ok(Reply(serde_json::from_str(text)?))
    }

    /// Waits for the response to the last request.
    async fn answer(&mut self) -> Result<Value, Fault> {
        loop {
            let line = timeout(ANSWER_TIMEOUT, self.lines.next_line()).await??;
            let message: Value = serde_json::from_str(&line.ok_or("the adapter has exited")?)?;
            if message["id"] == self.id {
                return Ok(message);
            }
        }
    }
}
