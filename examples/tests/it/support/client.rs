//! A small MCP client for an adapter process, over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::program::program;

/// Maximum time to wait for a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// An adapter process and the connection to it.
pub(crate) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    last_id: u64,
}

impl Client {
    /// Starts an example with these arguments and initializes MCP.
    pub(crate) fn start(example: &str, directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program(example));
        command.args(arguments).current_dir(directory);
        Self::run(example, command)
    }

    /// Like [`start`](Self::start), with a command that starts the example.
    pub(crate) fn run(example: &str, mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (sender, output) = channel();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut line = String::new();
            // If the process is killed, its last line may be incomplete.
            while lines.read_line(&mut line).is_ok() && line.ends_with('\n') {
                // Parsing fails the test if standard output contains anything but JSON.
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let input = process.stdin.take();
        let mut client = Self { process, input, output, last_id: 0 };
        let answer = client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "wire-test", "version": "1"},
            }),
        );
        assert_eq!(answer["result"]["serverInfo"]["name"], example, "{answer}");
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Calls an operation through the tool of a family and returns the reply. Confirms the call if necessary.
    pub(crate) fn call(&mut self, family: &str, operation: &str, mut params: Value) -> Value {
        let reply = self.call_once(family, operation, params.clone());
        if reply["error"]["code"] != "CONFIRMATION_REQUIRED" {
            return reply;
        }
        params["_confirmation"] = reply["error"]["details"]["confirmation_token"].clone();
        self.call_once(family, operation, params)
    }

    /// Like [`call`](Self::call), without the confirmation.
    pub(crate) fn call_once(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let id = self.send(family, operation, params);
        let answer = self.receive().expect("an answer");
        assert_eq!(answer["id"], id, "{answer}");
        reply(&answer)
    }

    /// Like [`call`](Self::call), but returns `data` and panics if the call fails.
    pub(crate) fn data(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let mut reply = self.call(family, operation, params);
        assert_eq!(reply["success"], true, "{operation}: {reply}");
        reply["data"].take()
    }

    /// Like [`call`](Self::call), but returns `error` and panics if the call succeeds.
    pub(crate) fn error(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let mut reply = self.call(family, operation, params);
        assert_eq!(reply["success"], false, "{operation}: {reply}");
        reply["error"].take()
    }

    /// Sends a call without waiting and returns the request's id.
    pub(crate) fn send(&mut self, family: &str, operation: &str, params: Value) -> u64 {
        let arguments = json!({"operation": operation, "params": params});
        let params = json!({"name": format!("mcp_aql_{family}"), "arguments": arguments});
        self.send_request("tools/call", &params)
    }

    /// Returns the next response, or `None` if the process has exited.
    pub(crate) fn receive(&self) -> Option<Value> {
        self.output.recv_timeout(ANSWER_TIMEOUT).ok()
    }

    /// Sends a request and returns its response.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send_request(method, params);
        self.receive().expect("an answer")
    }

    fn send_request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open connection");
        // Writing fails if the process was killed.
        let _ = writeln!(input, "{message}").and_then(|()| input.flush());
    }

    /// Kills the process without a chance to clean up.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Closes standard input and waits for the process to exit.
    pub(crate) fn close(mut self) {
        drop(self.input.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the operation's reply in the response to a tool call.
pub(crate) fn reply(answer: &Value) -> Value {
    let content = answer["result"]["content"].as_array().expect("a tool's result");
    assert_eq!(content.len(), 1, "{answer}");
    serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
}
