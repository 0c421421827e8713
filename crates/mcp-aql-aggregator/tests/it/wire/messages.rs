//! Messages that a JSON parser would change or lose, and batches. The tool uses the same transports
//! as an adapter.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::http::post;
use super::support::{Setup, TOOL, at, scripted, started};

/// A client that writes raw messages.
struct Raw {
    _child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    /// Connects and negotiates this version of MCP.
    async fn connect(setup: &Setup, version: &str) -> Self {
        let mut command = setup.command(&["serve"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut raw = Self { _child: child, stdin, lines };
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        } });
        let answer = raw.answer(&hello.to_string()).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        raw.send(&ready.to_string()).await;
        raw
    }

    async fn send(&mut self, message: &str) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn answer(&mut self, message: &str) -> Value {
        self.send(message).await;
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn call(id: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{TOOL}","arguments":{arguments}}}}}"#
    )
}

/// Arguments that cannot be decoded without loss, with the reported field and reason.
const LOSSY: [(&str, &str, &str); 4] = [
    (r#"{"query":"a","query":"b"}"#, "query", "must be given once, but the request repeats it"),
    (
        r#"{"query":"a","maxResults":20.00000000000000000001}"#,
        "maxResults",
        "must fit into a 64-bit number without losing digits",
    ),
    (r#"{"query":"\ud800"}"#, "arguments", "Invalid character encoding in request"),
    (r#"{"query":1e999}"#, "query", "must not be beyond 1.8e308"),
];

#[tokio::test]
async fn nothing_in_a_call_is_lost() {
    // REQ-AGR-10
    let setup = Setup::new(vec![scripted("docs", "")], &json!({}));
    let mut raw = Raw::connect(&setup, "2025-06-18").await;
    for (arguments, field, reason) in LOSSY {
        let answer = raw.answer(&call("7", arguments)).await;
        let error = &answer["error"];
        assert_eq!((&answer["id"], &error["code"]), (&json!(7), &json!(-32602)), "{answer}");
        assert_eq!(error["message"], "Invalid query parameters", "{answer}");
        assert_eq!(error["data"]["field"], field, "{answer}");
        assert!(error["data"]["reason"].as_str().unwrap().contains(reason), "{answer}");
    }
    let big = call("18446744073709551616", r#"{"query":""}"#);
    raw.send(&big).await;
    let line = raw.lines.next_line().await.unwrap().unwrap();
    assert!(line.contains(r#""id":18446744073709551616,"#), "{line}");
    for (message, code) in [
        (call("7", "{}").replace(r#""id":7"#, r#""id":6,"id":7"#), -32600),
        (
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{TOOL}","#
            ),
            -32700,
        ),
        (call("7", &format!(r#"{{"query":"{}"}}"#, "a".repeat(1 << 20))), -32602),
    ] {
        let answer = raw.answer(&message).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], 7, "{answer}");
    }
    // The session continues after each of these errors.
    assert_eq!(raw.answer(&call("8", r#"{"query":""}"#)).await["id"], 8);
}

#[tokio::test]
async fn batches_are_only_accepted_in_their_version() {
    let setup = Setup::new(vec![scripted("docs", "--results 2")], &json!({}));
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    let list = json!({ "jsonrpc": "2.0", "id": "l", "method": "tools/list" });
    let batch = format!("[{},{ping},{list},{}]", call("1", r#"{"query":"a"}"#), call("2", "[]"));
    let mut raw = Raw::connect(&setup, "2025-03-26").await;
    let answers = raw.answer(&batch).await;
    let of = |id: Value| {
        let answers = answers.as_array().unwrap();
        answers.iter().find(|answer| answer["id"] == id).cloned().unwrap()
    };
    assert_eq!(answers.as_array().unwrap().len(), 4, "{answers}");
    assert!(of(json!(1)).get("result").is_some() || of(json!(1))["error"]["code"] == -32603);
    assert_eq!(of(json!(2))["error"]["data"]["field"], "arguments", "{answers}");
    assert_eq!(of(json!("l"))["result"]["tools"][0]["name"], TOOL, "{answers}");
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut raw = Raw::connect(&setup, version).await;
        raw.send(&batch).await;
        for _ in 0..4 {
            let line = raw.lines.next_line().await.unwrap().unwrap();
            assert!(line.contains("-32600"), "{version}: {line}");
        }
    }
}

#[tokio::test]
async fn nothing_in_a_call_over_http_is_lost() {
    // REQ-AGR-10
    let setup = Setup::new(vec![scripted("docs", "--results 2")], &json!({}));
    let (_child, address) = setup.listen(&[]).await;
    let headers = "Host: localhost\r\nMCP-Protocol-Version: 2025-06-18";
    for (arguments, field, reason) in LOSSY {
        let answer = post(&address, headers, &call("7", arguments)).await;
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        let error = serde_json::from_str::<Value>(body).unwrap()["error"].take();
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!(field)));
        assert!(error["data"]["reason"].as_str().unwrap().contains(reason), "{answer}");
    }
    let big = post(&address, headers, &call("18446744073709551616", r#"{"query":""}"#)).await;
    assert!(big.contains(r#""id":18446744073709551616,"error":"#), "{big}");
    // A request without a version counts as 2025-03-26. That version has batches.
    started(&at(&address).await).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let batch = format!("[{},{ping}]", call("1", r#"{"query":"result"}"#));
    let answer = post(&address, "Host: localhost", &batch).await;
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    let answers: Vec<Value> = serde_json::from_str(body).unwrap();
    assert_eq!(answers.len(), 2, "{answer}");
    assert!(answers[0]["result"]["structuredContent"]["results"].is_array(), "{answer}");
    let answer = post(&address, headers, &batch).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("-32600"), "{answer}");
}
