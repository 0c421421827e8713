//! Streamable HTTP on loopback: rmcp's client, and requests by hand.
#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use mcp_aql::{Error, HttpOptions};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use support::adapter::{Signals, builder, builder_with};
use support::reached;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    done: JoinHandle<mcp_aql::Result>,
}

async fn start(builder: mcp_aql::AdapterBuilder, options: HttpOptions) -> Server {
    let adapter = builder.without_config().build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let done = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        adapter.serve_listener(listener, options, stopped).await
    });
    Server { address, stop, done }
}

impl Server {
    async fn connect(&self) -> RunningService<RoleClient, ()> {
        let url = format!("http://{}/mcp", self.address);
        ().serve(StreamableHttpClientTransport::from_uri(url)).await.unwrap()
    }

    /// Sends a request by hand; gives the status and the answer's text.
    async fn post(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> (u16, String) {
        let body = body.as_ref();
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut request = String::from("POST /mcp HTTP/1.1\r\n");
        let own = [
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Connection", "close"),
        ];
        for (name, value) in own.iter().chain(headers) {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(request.as_bytes()).await.unwrap();
        // A server that refuses may hang up before all is sent.
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_default(), answer)
    }
}

async fn call(client: &RunningService<RoleClient, ()>, operation: &str) -> Value {
    let tool = match operation.split('_').next() {
        Some("execute") => "mcp_aql_execute",
        _ => "mcp_aql_read",
    };
    let arguments = json!({ "operation": operation });
    let params =
        CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
    let result = client.call_tool(params).await.unwrap();
    serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap()
}

fn hello() -> String {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
    .to_string()
}

#[tokio::test]
async fn each_client_has_a_session_until_it_leaves() {
    // REQ-SES-01, REQ-SES-02, REQ-SES-06
    let signals = Signals::default();
    let server = start(builder_with(&signals), HttpOptions::new()).await;
    let (one, two) = (server.connect().await, server.connect().await);
    assert_eq!(one.list_all_tools().await.unwrap().len(), 5);
    let session = call(&one, "show_caller").await["data"]["caller"]["session"].clone();
    assert!(session.as_str().unwrap().starts_with("s-"), "{session}");
    assert_eq!(call(&one, "show_caller").await["data"]["caller"]["session"], session);
    assert_ne!(call(&two, "show_caller").await["data"]["caller"]["session"], session);
    assert_eq!(call(&one, "execute_hold").await["data"], 1);
    assert_eq!(call(&one, "execute_hold").await["data"], 2);
    assert_eq!(call(&two, "execute_hold").await["data"], 1);
    // Holding anew dropped what the first client held before.
    reached(&signals.sessions_ended, 1).await;
    one.cancel().await.unwrap();
    reached(&signals.sessions_ended, 2).await;
    assert_eq!(call(&two, "execute_hold").await["data"], 2);
    server.stop.send(()).unwrap();
    server.done.await.unwrap().unwrap();
    // The server's end is the end of its sessions.
    reached(&signals.sessions_ended, 4).await;
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends() {
    // REQ-SES-02
    let signals = Signals::default();
    let options = HttpOptions::new().session_timeout(std::time::Duration::from_millis(50));
    let server = start(builder_with(&signals), options).await;
    let body = hello();
    let (status, answer) = server.post(&[], &body).await;
    assert_eq!(status, 200);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let hold = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_execute", "arguments": { "operation": "execute_hold" } } });
    let (held, _) = server.post(&[("Mcp-Session-Id", id)], &hold.to_string()).await;
    // On a slow machine the session may have ended before the call; then there is nothing to drop.
    if held == 200 {
        reached(&signals.sessions_ended, 1).await;
    }
    loop {
        let (status, _) = server.post(&[("Mcp-Session-Id", id)], &hold.to_string()).await;
        if status == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    server.stop.send(()).unwrap();
    server.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn without_sessions_nobody_pretends() {
    // REQ-SES-01, REQ-SES-05
    let server = start(builder(), HttpOptions::new().sessions(false)).await;
    let client = server.connect().await;
    assert_eq!(call(&client, "show_caller").await["data"]["caller"]["session"], Value::Null);
    let refused = call(&client, "execute_hold").await;
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED");
    assert!(refused["error"]["message"].as_str().unwrap().contains("session"), "{refused}");
}

#[tokio::test]
async fn the_newest_mcp_has_no_session_over_http_whatever_it_claims() {
    // REQ-SES-01, REQ-SES-05
    let server = start(builder(), HttpOptions::new()).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "show_caller" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mcp_aql_read"),
        ("Mcp-Session-Id", "forged"),
    ];
    let (status, answer) = server.post(&headers, &body.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains(r#"\"session\":null"#), "{answer}");
}

#[tokio::test]
async fn strangers_are_turned_away() {
    // REQ-MCP-12
    let options = HttpOptions::new().allow_host("tasks.test").allow_origin("https://app.test");
    let server = start(builder(), options).await;
    let body = hello();
    for (headers, status) in [
        (vec![], 200),
        (vec![("Host", "localhost")], 200),
        (vec![("Host", "tasks.test:8443")], 200),
        (vec![("Host", "evil.test")], 403),
        (vec![("Origin", "http://localhost:5173")], 200),
        (vec![("Origin", "https://app.test")], 200),
        (vec![("Origin", "https://evil.test")], 403),
        (vec![("Origin", "null")], 403),
    ] {
        let (actual, answer) = server.post(&headers, &body).await;
        assert_eq!(actual, status, "{headers:?}: {answer}");
    }
}

#[tokio::test]
async fn bodies_beyond_any_request_get_413() {
    // REQ-ENC-08, choice G-15
    let server = start(builder(), HttpOptions::new()).await;
    let (status, _) = server.post(&[], &"x".repeat(4 << 20)).await;
    assert_eq!(status, 413);
    // What is too large for the protocol, but not for HTTP, gets the protocol's error.
    let client = server.connect().await;
    let arguments = json!({ "operation": "list_notes", "params": { "x": "x".repeat(2 << 20) } });
    let params = CallToolRequestParams::new("mcp_aql_read")
        .with_arguments(arguments.as_object().unwrap().clone());
    let result = client.call_tool(params).await.unwrap();
    assert!(result.content[0].as_text().unwrap().text.contains("VALIDATION_PAYLOAD_TOO_LARGE"));
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_answered_by_their_id() {
    // REQ-ENC-01, REQ-ENC-08, REQ-ENC-12, REQ-ENC-13
    let server = start(builder(), HttpOptions::new()).await;
    let call = |id: &str, title: &[u8]| {
        let head = r#"{"method":"tools/call","params":{"name":"mcp_aql_create","arguments":{"operation":"create_note","title":"#;
        let tail = format!(r#"}}}},"jsonrpc":"2.0","id":{id}}}"#);
        [head.as_bytes(), title, tail.as_bytes()].concat()
    };
    let (large, huge) = ("x".repeat(4 << 20), "x".repeat(20 << 20));
    let deep = [b"[".repeat(5_000), b"]".repeat(5_000)].concat();
    for (what, body, status, expected, identified) in [
        ("raw bytes", call("1", b"\"\xff\""), 200, "VALIDATION_INVALID_ENCODING", true),
        ("an escape", call("1", br#""\ud800""#), 200, "VALIDATION_INVALID_ENCODING", true),
        ("depth", call("1", &deep), 200, "VALIDATION_PAYLOAD_TOO_LARGE", true),
        (
            "length",
            call("1", format!("\"{large}\"").as_bytes()),
            200,
            "VALIDATION_PAYLOAD_TOO_LARGE",
            true,
        ),
        ("more than is read on", call("1", format!("\"{huge}\"").as_bytes()), 413, "-32600", false),
        ("nobody's length", large.clone().into_bytes(), 413, "-32600", false),
        ("no JSON", b"hello".to_vec(), 400, "-32700", false),
        ("no JSON, with an id", b"{\"id\":1,]".to_vec(), 400, "-32700", true),
        ("no message", b"{\"id\":1}".to_vec(), 400, "-32600", true),
        (
            "no call",
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}"#.to_vec(),
            400,
            "-32602",
            true,
        ),
        ("several messages", b"[{\"id\":1}]".to_vec(), 400, "-32600", false),
        ("nothing", Vec::new(), 400, "-32600", false),
    ] {
        let (actual, answer) = server.post(&[], &body).await;
        assert_eq!(actual, status, "{what}: {answer}");
        assert!(answer.contains(expected), "{what}: {answer}");
        assert!(!answer.contains("fail to deserialize"), "{what}: {answer}");
        assert_eq!(answer.contains(r#""id":1"#), identified, "{what}: {answer}");
    }
    // What strangers send is not even looked at.
    let (status, _) = server.post(&[("Host", "evil.test")], call("1", b"\"\xff\"")).await;
    assert_eq!(status, 403);
    let (status, answer) =
        server.post(&[("MCP-Protocol-Version", "2026-07-28")], call("1", b"\"\xff\"")).await;
    assert_eq!(status, 200);
    assert!(answer.contains(r#""resultType":"complete""#), "{answer}");
}

#[tokio::test]
async fn no_more_sessions_than_there_may_be() {
    // REQ-SES-01, REQ-SES-02
    let server = start(builder(), HttpOptions::new().max_sessions(2)).await;
    let (one, two) = (server.connect().await, server.connect().await);
    for _ in 0..2 {
        let (status, answer) = server.post(&[], hello()).await;
        assert_eq!(status, 503, "{answer}");
        assert!(answer.contains("retry-after: 10\r\n"), "{answer}");
        assert!(answer.contains(r#""id":0,"error":{"code":-32000,"#), "{answer}");
    }
    // Who has a session keeps it, and who needs none is served.
    for client in [&one, &two] {
        assert_eq!(call(client, "execute_hold").await["data"], 1);
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "list_notes" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "mcp_aql_read"),
    ];
    assert_eq!(server.post(&headers, body.to_string()).await.0, 200);
    // A place that is left is given again.
    one.cancel().await.unwrap();
    let three = server.connect().await;
    assert_eq!(call(&three, "execute_hold").await["data"], 1);
    assert_eq!(server.post(&[], hello()).await.0, 503);
}

#[tokio::test]
async fn a_client_that_does_not_go_on_is_given_up() {
    // REQ-SES-02
    let patience = Duration::from_millis(300);
    let server = start(builder(), HttpOptions::new().client_timeout(patience)).await;
    let body = hello();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len() + 100,
    );
    for (what, sent, expected) in [
        ("says nothing", String::new(), vec![]),
        ("half the headers", head[..60].to_owned(), vec![]),
        ("half the body", format!("{head}{body}"), vec!["408", r#""id":0,"error":{"code":-32600"#]),
        ("no body", head, vec!["408", r#"{"jsonrpc":"2.0","error":{"code":-32600"#]),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let ended = timeout(Duration::from_secs(20), stream.read_to_string(&mut answer)).await;
        ended.unwrap_or_else(|_| panic!("{what}: the connection stayed")).unwrap();
        assert_eq!(answer.is_empty(), expected.is_empty(), "{what}: {answer}");
        for part in expected {
            assert!(answer.contains(part), "{what}: {answer}");
        }
    }
    // An operation may take longer than a client.
    let client = server.connect().await;
    let arguments = json!({ "operation": "execute_export", "params": { "steps": 100 } });
    let params = CallToolRequestParams::new("mcp_aql_execute")
        .with_arguments(arguments.as_object().unwrap().clone());
    let result = client.call_tool(params).await.unwrap();
    assert_eq!(result.content[0].as_text().unwrap().text, r#"{"success":true,"data":100}"#);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up() {
    // REQ-SES-02
    let patience = Duration::from_millis(500);
    let server = start(builder(), HttpOptions::new().client_timeout(patience)).await;
    let client = server.connect().await;
    const TITLE: usize = 1_000_000;
    for _ in 0..10 {
        let arguments =
            json!({ "operation": "create_note", "params": { "title": "t".repeat(TITLE) } });
        let params = CallToolRequestParams::new("mcp_aql_create")
            .with_arguments(arguments.as_object().unwrap().clone());
        client.call_tool(params).await.unwrap();
    }
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "list_notes" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } })
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: mcp_aql_read\r\n\r\n",
        list.len(),
    );
    let read = async |pause: Duration| {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(list.as_bytes()).await.unwrap();
        tokio::time::sleep(pause).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        answer.len()
    };
    assert!(read(Duration::ZERO).await > 9 * TITLE, "a client that reads gets it all");
    assert!(read(patience * 8).await < 9 * TITLE, "nobody waited for a client that did not");
}

#[tokio::test]
async fn other_machines_are_served_only_on_purpose() {
    let adapter = builder().without_config().build().unwrap();
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    for options in [
        HttpOptions::new(),
        HttpOptions::new().allow_remote(true),
        HttpOptions::new().allow_host("tasks.test"),
    ] {
        let refused = adapter.serve_http(everywhere, options).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Usage(text) if text.contains("--allow-host")),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_request_cancels_its_operation() {
    // MCP: a client that stops waiting cancels its request
    let signals = Signals::default();
    let server = start(builder_with(&signals), HttpOptions::new()).await;
    let client = server.connect().await;
    let peer = client.peer().clone();
    let waiting = tokio::spawn(async move {
        let arguments = json!({ "operation": "execute_wait" });
        let params = CallToolRequestParams::new("mcp_aql_execute")
            .with_arguments(arguments.as_object().unwrap().clone());
        peer.call_tool(params).await
    });
    reached(&signals.started, 1).await;
    waiting.abort();
    reached(&signals.cancelled, 1).await;
}
