//! Tests of an adapter process over pipes, with rmcp's client and with hand-written messages.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};

use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

fn spawn() -> Child {
    let mut command = crate::support::command();
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
async fn a_third_party_client_works() {
    // REQ-MCP-09, REQ-MCP-10
    let command = tokio::process::Command::from(crate::support::command());
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
fn piped_input_is_answered() {
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
fn a_crashed_client_ends_its_session() {
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
    // A call is running when both pipes are closed.
    writeln!(stdin, "{}", call(2, "mcp_aql_execute", "execute_wait", &json!({}))).unwrap();
    drop((stdin, lines));
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the session is over");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_batch_of_the_version_that_has_them_is_answered_as_one() {
    let mut child = spawn();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer = |message: &Value| -> Value {
        writeln!(stdin, "{message}").unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let mut hello = hello();
    hello["params"]["protocolVersion"] = "2025-03-26".into();
    assert_eq!(answer(&hello)["result"]["protocolVersion"], "2025-03-26");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    let list = json!({ "jsonrpc": "2.0", "id": "l", "method": "tools/list" });
    let create = call(1, "mcp_aql_create", "create_note", &json!({ "title": "Milk" }));
    let export = call(2, "mcp_aql_execute", "execute_export", &json!({ "steps": 3 }));
    let answers = answer(&json!([create, ready, ping, export, list, 7, [create]]));
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 6, "{answers:?}");
    for id in [json!(1), json!(2), json!("p"), json!("l")] {
        assert_eq!(answers.iter().filter(|one| one["id"] == id).count(), 1, "{answers:?}");
    }
    let faulty = |one: &&Value| one["error"]["code"] == -32600 && one.get("id").is_none();
    assert_eq!(answers.iter().filter(faulty).count(), 2, "{answers:?}");
    let many = Value::from(vec![ping; 101]);
    assert_eq!(answer(&many)["error"]["code"], -32600);
    // Notifications have no answers.
    writeln!(stdin, "[{ready}]").unwrap();
    drop(stdin);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn only_mcp_is_on_standard_output() {
    // REQ-MCP-09
    let mut command = crate::support::command();
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

#[cfg(unix)]
#[test]
fn a_signal_ends_the_session_before_the_process() {
    // REQ-SES-02, REQ-TOK-12, REQ-TOK-16
    let folder = std::env::temp_dir().join(format!("mcp-aql-signals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (config, log) = (folder.join("mcp-aql.toml"), folder.join("audit.jsonl"));
    std::fs::write(&config, format!("audit_log = {log:?}\n")).unwrap();
    for (signal, piped) in [("TERM", true), ("INT", true), ("TERM", false)] {
        std::fs::write(&log, "").unwrap();
        let mut command = crate::support::command();
        command.arg("--config").arg(&config).stdout(Stdio::piped());
        // A thread reads from the socket as it would from a terminal, and the socket stays open.
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let input =
            if piped { Stdio::piped() } else { Stdio::from(std::os::fd::OwnedFd::from(theirs)) };
        let mut child = command.stdin(input).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stdin: Box<dyn std::io::Write> = match child.stdin.take() {
            Some(stdin) => Box::new(stdin),
            None => Box::new(ours.try_clone().unwrap()),
        };
        writeln!(stdin, "{}", hello()).unwrap();
        for id in 1..=60 {
            writeln!(stdin, "{}", call(id, "mcp_aql_delete", "delete_notes", &json!({}))).unwrap();
        }
        for _ in 0..=60 {
            lines.next().unwrap().unwrap();
        }
        let process = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &process]).status();
        assert!(sent.unwrap().success());
        assert!(child.wait().unwrap().success(), "{signal}");
        let written = std::fs::read_to_string(&log).unwrap();
        let count = |event: &str| written.matches(&format!("\"event\":\"{event}\"")).count();
        assert_eq!((count("TOKEN_ISSUED"), count("TOKEN_REVOKED")), (60, 60), "{signal}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
