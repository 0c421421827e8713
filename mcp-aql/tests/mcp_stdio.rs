//! A program on the other end of a pipe, driven by rmcp's client and by hand.
#![cfg(feature = "cli")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};

use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

fn spawn() -> Child {
    let mut command = support::command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command.spawn().unwrap()
}

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
}

fn call(id: u64, tool: &str, operation: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": { "operation": operation, "params": params },
    } })
}

#[tokio::test]
async fn a_client_of_another_make_works() {
    // REQ-MCP-09, REQ-MCP-10
    let command = tokio::process::Command::from(support::command());
    let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    assert_eq!(client.list_all_tools().await.unwrap().len(), 5);
    let arguments = json!({ "operation": "create_note", "params": { "title": "Milk" } });
    let params = CallToolRequestParams::new("mcp_aql_create")
        .with_arguments(arguments.as_object().unwrap().clone());
    let result = client.call_tool(params).await.unwrap();
    assert_eq!(result.is_error, Some(false));
    let text = &result.content[0].as_text().unwrap().text;
    let reply: Value = serde_json::from_str(text).unwrap();
    assert_eq!(reply["data"]["note"]["title"], "Milk");
    client.cancel().await.unwrap();
}

#[test]
fn what_is_piped_in_is_answered() {
    // REQ-RQ-08
    let mut child = spawn();
    let mut stdin = child.stdin.take().unwrap();
    for message in [
        hello(),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(1, "mcp_aql_execute", "execute_export", &json!({ "steps": 3 })),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    let last: Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    assert_eq!(last["id"], 1, "{output}");
    assert!(last["result"]["content"][0]["text"].as_str().unwrap().contains("\"data\":3"));
}

#[test]
fn a_client_that_dies_takes_its_session_along() {
    // REQ-SES-01, REQ-SES-02
    let folder = std::env::temp_dir().join(format!("mcp-aql-stdio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("farewell");
    let mut child = spawn();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    writeln!(stdin, "{}", hello()).unwrap();
    lines.next().unwrap().unwrap();
    let hold = call(1, "mcp_aql_execute", "execute_hold", &json!({ "file": file }));
    writeln!(stdin, "{hold}").unwrap();
    let answer = lines.next().unwrap().unwrap();
    assert!(answer.contains(r#"\"success\":true"#), "{answer}");
    // Work is in flight, and both pipes break at once.
    writeln!(stdin, "{}", call(2, "mcp_aql_execute", "execute_wait", &json!({}))).unwrap();
    drop((stdin, lines));
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the session is over");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn only_mcp_is_on_standard_output() {
    // REQ-MCP-09
    let mut command = support::command();
    command.env("MCP_AQL_LOG", "trace").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", hello()).unwrap();
    writeln!(stdin, "{}", call(1, "mcp_aql_read", "list_notes", &json!({}))).unwrap();
    writeln!(stdin, "{}", call(2, "mcp_aql_execute", "execute_panic", &json!({}))).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(!output.stderr.is_empty(), "the log goes to standard error");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
    }
}
