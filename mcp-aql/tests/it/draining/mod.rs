//! Tests of a server process that receives a signal while calls are running, over HTTP and over standard input and
//! output.

mod http;
mod stdio;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The maximum time that a test waits for an event. Only a failing test waits this long.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The listener at which an operation of the fixture waits for the test.
struct Gate(TcpListener);

/// An operation that waits for the test.
struct WaitingOperation(TcpStream);

impl Gate {
    fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn address(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }

    /// Waits until an operation has connected.
    fn arrived(&self) -> WaitingOperation {
        WaitingOperation(self.0.accept().unwrap().0)
    }
}

impl WaitingOperation {
    fn release(mut self) {
        self.0.write_all(&[1]).unwrap();
    }
}

/// The directory of one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-aql-draining-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn written(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// A process of the fixture, with the lines of its log. It is killed on drop.
struct Process {
    child: Child,
    log: Receiver<String>,
    seen: Vec<String>,
}

impl Process {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(crate::support::example("drain_fixture"));
        command.args(args).env("MCP_AQL_LOG", "info").env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, log) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, log, seen: Vec::new() }
    }

    /// Waits for a line of the log that contains `text`, and returns it.
    fn logged(&mut self, text: &str) -> String {
        loop {
            match self.log.recv_timeout(EVENT_TIMEOUT) {
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{error}: no line with {text:?} in {:#?}", self.seen),
            }
            if let Some(line) = self.seen.last().filter(|line| line.contains(text)) {
                return line.clone();
            }
        }
    }

    fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &process]).status().unwrap().success());
    }

    /// Sends the signal, and waits until draining has begun.
    fn stop(&mut self, signal: &str) {
        self.signal(signal);
        self.logged("new calls are rejected");
    }

    /// Waits until the process has ended, and returns its log.
    fn ended(mut self) -> String {
        assert!(self.child.wait().unwrap().success());
        let mut seen = std::mem::take(&mut self.seen);
        seen.extend(self.log.iter());
        seen.join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
}

/// Returns a call of an operation of the fixture, for a session.
fn call(id: u64, operation: &str, params: &Value) -> Value {
    let family = match operation.split('_').next() {
        Some("create") => "create",
        Some("execute") => "execute",
        _ => "read",
    };
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": format!("mcp_aql_{family}"),
        "arguments": { "operation": operation, "params": params },
    } })
}

/// Returns the operation's reply from the answer to a call.
fn reply(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

/// Asserts that a call was rejected because the server is shutting down.
fn assert_refused(answer: &Value) {
    let error = &reply(answer)["error"];
    assert_eq!(error["code"], "INTERNAL_ERROR", "{answer}");
    assert!(error["message"].as_str().unwrap().contains("shutting down"), "{answer}");
    assert_eq!(error["details"]["retry_after_seconds"], 10, "{answer}");
    assert_eq!(error["details"]["operation_ran"], false, "{answer}");
}
