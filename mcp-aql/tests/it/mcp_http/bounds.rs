//! Tests of limits on sessions, connections and durations.

use std::time::Duration;

use mcp_aql::HttpOptions;
use mcp_aql::transport::HttpSettings;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{hello, request, start, text};
use crate::support::adapter::builder;

#[tokio::test]
async fn idle_clients_are_disconnected() {
    // REQ-SES-02
    let patience = Duration::from_millis(300);
    let server = start(
        builder(),
        HttpOptions::new()
            .settings(HttpSettings { client_timeout: patience, ..HttpSettings::default() }),
    )
    .await;
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
    // An operation may run longer than the client timeout.
    let client = server.connect().await;
    let arguments = json!({ "operation": "execute_export", "params": { "steps": 100 } });
    let result = client.call_tool(request("mcp_aql_execute", &arguments)).await.unwrap();
    assert_eq!(text(&result), r#"{"success":true,"data":100}"#);
}

#[tokio::test]
async fn headers_of_any_length_are_not_read() {
    let server = start(builder(), HttpOptions::new()).await;
    let (long, longer) = ("x".repeat(30 << 10), "x".repeat(140 << 10));
    assert_eq!(server.post(&[("X-Long", &long)], hello()).await.0, 200);
    assert_eq!(server.post(&[("X-Long", &longer)], hello()).await.0, 431);
}

#[tokio::test]
async fn a_router_that_is_no_adapter_is_guarded_as_one() {
    use axum::routing::post;
    use tokio::net::TcpListener;

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let patience = Duration::from_millis(300);
    let options = HttpOptions::new()
        .settings(HttpSettings { client_timeout: patience, ..HttpSettings::default() })
        .allow_host("docs.example.org");
    assert_eq!(options.allowed_hosts(), ["localhost", "127.0.0.1", "::1", "docs.example.org"]);
    assert!(options.allowed_origins().contains(&"https://localhost:*".to_owned()));
    let router = axum::Router::new().route("/", post(|body: String| async move { body }));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async { stopped.await.unwrap_or_default() };
    let serving = tokio::spawn(options.serve_router(listener, router, stopped));
    for (what, sent, expected) in [
        ("all of it", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", "200"),
        ("half the body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhi", "408"),
        ("half the headers", "POST / HTTP/1.1\r\nHost:", ""),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let ended = timeout(Duration::from_secs(20), stream.read_to_string(&mut answer)).await;
        ended.unwrap_or_else(|_| panic!("{what}: the connection stayed")).unwrap();
        assert_eq!(answer.split(' ').nth(1).unwrap_or_default(), expected, "{what}: {answer}");
    }
    stop.send(()).unwrap();
    timeout(Duration::from_secs(20), serving).await.unwrap().unwrap().unwrap();
    // An address that other machines can reach requires a host name.
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = HttpOptions::new().serve_router(listener, axum::Router::new(), async {}).await;
    assert!(refused.unwrap_err().to_string().contains("--allow-remote"));
}
