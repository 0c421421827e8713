//! No process remains after the command ends.

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ClientRequest, Request};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::support::{Setup, TOOL, alive, scripted, started, until};

/// Returns servers that ignore signals and record their process ids.
fn stubborn(setup: &Setup) -> Vec<(String, Value)> {
    let pids = setup.file("pids");
    let pids = pids.to_str().unwrap();
    vec![
        scripted("kind", &format!("--pids {pids}")),
        scripted("stays", &format!("--stays --child --pids {pids}")),
        scripted("deaf", &format!("--call stop-reading --stays --pids {pids}")),
    ]
}

#[tokio::test]
async fn no_process_remains_after_the_end_of_input() {
    let setup = Setup::new(Vec::new(), &json!({}));
    setup.write(stubborn(&setup), &json!({}));
    let pids = setup.file("pids");
    let mut child =
        setup.command(&["serve"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    until("four processes run", || alive(&pids).len() == 4).await;
    drop(child.stdin.take());
    let status =
        tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    until("no process is left", || alive(&pids).is_empty()).await;
}

#[tokio::test]
async fn no_process_remains_after_a_signal() {
    for face in ["plain", "mcp-aql"] {
        let setup = Setup::new(Vec::new(), &json!({}));
        setup.write(stubborn(&setup), &json!({}));
        let pids = setup.file("pids");
        let (mut child, _) = setup.listen(&["--face", face]).await;
        until("four processes run", || alive(&pids).len() == 4).await;
        terminate(&child);
        let status =
            tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(0), "{face}");
        until("no process is left", || alive(&pids).is_empty()).await;
    }
}

fn terminate(child: &tokio::process::Child) {
    let process = child.id().unwrap().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap();
    assert!(sent.success());
}

#[tokio::test]
async fn queries_before_the_end_of_input_are_answered() {
    let setup = Setup::new(vec![scripted("docs", "--results 2")], &json!({}));
    let mut child =
        setup.command(&["serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": TOOL, "arguments": { "query": "result" },
    } });
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{hello}\n{ready}\n{call}\n").as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answer: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(answer["id"], 2, "{text}");
    assert!(answer["result"]["structuredContent"]["results"].is_array(), "{text}");
}

#[tokio::test]
async fn a_cancelled_query_cancels_the_servers_calls() {
    let setup = Setup::new(Vec::new(), &json!({}));
    let log = setup.file("log");
    let hangs = scripted("hangs", &format!("--call hang --log {}", log.display()));
    setup.write(vec![hangs], &json!({}));
    let client = setup.connect(&[]).await;
    let heard = |word: &str| std::fs::read_to_string(&log).unwrap_or_default().contains(word);
    until("the server is ready", || heard("tools/list")).await;
    let Value::Object(arguments) = json!({ "query": "pin a version" }) else { panic!() };
    let call = CallToolRequestParams::new(TOOL).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(Request::new(call));
    let options = PeerRequestOptions::no_options();
    let handle = client.peer().send_cancellable_request(request, options).await.unwrap();
    until("the server is asked", || heard("tools/call")).await;
    assert!(!heard("notifications/cancelled"));
    handle.cancel(Some("enough".to_owned())).await.unwrap();
    until("the server is told", || heard("notifications/cancelled")).await;
    started(&client).await;
    client.cancel().await.unwrap();
}
