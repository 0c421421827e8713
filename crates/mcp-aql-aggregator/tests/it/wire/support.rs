//! Configurations, and clients of the command.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorData};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

pub(crate) const TOOL: &str = "mcp__proxy__aggregator__query";

pub(crate) type Client = RunningService<RoleClient, ()>;

/// A configuration file, and a folder for files that servers write.
pub(crate) struct Setup {
    folder: TempDir,
}

/// Returns a server that runs this script.
pub(crate) fn scripted(name: &str, script: &str) -> (String, Value) {
    let how = json!({
        "command": std::env::current_exe().unwrap(),
        "args": ["as_server", "--exact", "--nocapture"],
        "env": { mcp_aql_upstreams::SCRIPT: script },
    });
    (name.to_owned(), how)
}

impl Setup {
    pub(crate) fn new(servers: Vec<(String, Value)>, aggregator: &Value) -> Self {
        let setup = Self { folder: tempfile::tempdir().unwrap() };
        setup.write(servers, aggregator);
        setup
    }

    pub(crate) fn write(&self, servers: Vec<(String, Value)>, aggregator: &Value) {
        // The order matters, and an object of `serde_json` would not keep it.
        let servers = servers.iter().map(|(name, how)| format!("{}: {how}", json!(name)));
        let servers = servers.collect::<Vec<_>>().join(", ");
        let text = format!("{{\"mcpServers\": {{{servers}}}, \"aggregator\": {aggregator}}}");
        std::fs::write(self.config(), text).unwrap();
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.file("servers.json")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the command with this configuration.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-aql-aggregator"));
        let (first, others) = words.split_first().unwrap();
        command.arg(first).arg("--config").arg(self.config()).args(others).kill_on_drop(true);
        command
    }

    /// Connects a client to the command's standard input and output.
    pub(crate) async fn connect(&self, words: &[&str]) -> Client {
        let serve: Vec<_> = ["serve"].iter().chain(words).copied().collect();
        ().serve(TokioChildProcess::new(self.command(&serve)).unwrap()).await.unwrap()
    }

    /// Starts the command with HTTP and returns its address.
    pub(crate) async fn listen(&self, words: &[&str]) -> (Child, String) {
        let serve: Vec<_> =
            ["serve", "--http", "127.0.0.1:0"].iter().chain(words).copied().collect();
        let mut command = self.command(&serve);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some(rest) = line.strip_prefix("MCP on http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        // The output must be read, or the command would block.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        (child, address)
    }

    /// Returns the output and exit code of the command.
    pub(crate) async fn run(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.command(words).stdin(Stdio::null()).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

pub(crate) async fn at(address: &str) -> Client {
    let url = format!("http://{address}/mcp");
    ().serve(StreamableHttpClientTransport::from_uri(url)).await.unwrap()
}

fn request(tool: &str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

/// Returns the tool's result.
pub(crate) async fn query(client: &Client, arguments: Value) -> Value {
    let result = client.call_tool(request(TOOL, arguments)).await.unwrap();
    assert_ne!(result.is_error, Some(true));
    let structured = result.structured_content.clone().unwrap();
    // REQ-AGR-04
    assert_eq!(result.content.len(), 1);
    assert_eq!(serde_json::from_str::<Value>(&text(&result)).unwrap(), structured);
    structured
}

/// Returns the tool's error.
pub(crate) async fn refused(client: &Client, arguments: Value) -> ErrorData {
    match client.call_tool(request(TOOL, arguments)).await {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Returns the reply of an operation.
pub(crate) async fn operation(client: &Client, name: &str, params: Value) -> Value {
    let arguments = json!({ "operation": name, "params": params });
    let result = client.call_tool(request("mcp_aql_read", arguments)).await.unwrap();
    serde_json::from_str(&text(&result)).unwrap()
}

fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

/// Returns malformed parameters of `tools/call`, with the reported field and reason.
pub(crate) fn malformed() -> Vec<(Value, &'static str, &'static str)> {
    let call = |arguments: Value| json!({ "name": TOOL, "arguments": arguments });
    vec![
        (call(json!([])), "arguments", "Must be an object, got a list"),
        (call(json!(["a"])), "arguments", "Must be an object, got a list"),
        (call(json!("a")), "arguments", "Must be an object, got a string"),
        (call(json!(7)), "arguments", "Must be an object, got a number"),
        (call(json!(true)), "arguments", "Must be an object, got a boolean"),
        (call(json!(null)), "query", "Is required"),
        (json!({ "name": TOOL }), "query", "Is required"),
        (json!({ "name": 7, "arguments": {} }), "name", "Must be a string, got a number"),
        (json!({ "name": null, "arguments": {} }), "name", "Must be a string, got null"),
        (json!({ "arguments": { "query": "a" } }), "name", "Is required"),
        (json!({}), "name", "Is required"),
        (Value::Null, "params", "Is required"),
        (json!([TOOL, {}]), "params", "Must be an object, got a list"),
        (json!("a"), "params", "Must be an object, got a string"),
    ]
}

/// Queries until no server is still starting.
pub(crate) async fn started(client: &Client) {
    for _ in 0..600 {
        let asked = client.call_tool(request(TOOL, json!({ "query": "are you there" }))).await;
        let told = match asked {
            Ok(result) => text(&result),
            Err(ServiceError::McpError(error)) => format!("{:?}", error.data),
            Err(error) => panic!("{error}"),
        };
        if !told.contains("still starting") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the servers do not start");
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..400 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it never came to this: {what}");
}

/// Returns the process ids in a file whose processes are still running.
pub(crate) fn alive(file: &Path) -> Vec<String> {
    let told = std::fs::read_to_string(file).unwrap_or_default();
    let runs = |process: &&str| {
        // A zombie is still listed.
        let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = state.rsplit(')').next().unwrap_or_default().trim().chars().next();
        !matches!(state, None | Some('Z' | 'X'))
    };
    told.lines().filter(runs).map(str::to_owned).collect()
}
