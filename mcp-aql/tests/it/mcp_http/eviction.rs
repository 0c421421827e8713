//! Tests of the eviction of sessions when their limit is reached.

use std::time::Duration;

use mcp_aql::HttpOptions;
use mcp_aql::transport::HttpSettings;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{Server, hello, newest, start};
use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;
use crate::support::works::works;

/// A client that keeps the event stream of its session open.
struct Listening(BufReader<TcpStream>);

impl Server {
    async fn listen(&self, session: &str) -> Listening {
        let mut stream = BufReader::new(TcpStream::connect(self.address).await.unwrap());
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 200 "), "{line}");
        Listening(stream)
    }

    async fn run(&self, session: &str, tool: &str, arguments: Value) -> (u16, String) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments } });
        self.post(&[("Mcp-Session-Id", session)], body.to_string()).await
    }

    /// Stores state in a session. Returns the status.
    async fn hold(&self, session: &str) -> u16 {
        self.run(session, "mcp_aql_execute", json!({ "operation": "execute_hold" })).await.0
    }

    /// Opens a session as soon as the limit permits it. Returns its id.
    async fn session_when_possible(&self) -> String {
        let opened = async {
            loop {
                let (status, answer) = self.post(&[], hello()).await;
                if status == 200 {
                    let id = answer.split("mcp-session-id: ").nth(1).unwrap();
                    return id.split("\r\n").next().unwrap().to_owned();
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_secs(60), opened).await.unwrap()
    }
}

#[tokio::test]
async fn sessions_in_use_are_not_evicted() {
    // REQ-SES-01, REQ-SES-02
    let server = start(
        builder(),
        HttpOptions::new().settings(HttpSettings { max_sessions: 2, ..HttpSettings::default() }),
    )
    .await;
    let (one, two) = (server.session("2025-11-25").await, server.session("2025-11-25").await);
    let (first, second) = (server.listen(&one).await, server.listen(&two).await);
    for _ in 0..2 {
        let (status, answer) = server.post(&[], hello()).await;
        assert_eq!(status, 503, "{answer}");
        assert!(answer.contains("retry-after: 10\r\n"), "{answer}");
        assert!(answer.contains(r#""id":0,"error":{"code":-32000,"#), "{answer}");
    }
    // Existing sessions continue, and calls without a session are served.
    assert_eq!((server.hold(&one).await, server.hold(&two).await), (200, 200));
    let (headers, body) = newest("list_notes");
    assert_eq!(server.post(&headers, body).await.0, 200);
    // A session that its client ends no longer counts.
    assert_eq!(server.send("DELETE", &[("Mcp-Session-Id", &one)], "").await.0, 202);
    let three = server.session("2025-11-25").await;
    let third = server.listen(&three).await;
    assert_eq!(server.post(&[], hello()).await.0, 503);
    // A client that disconnects without ending its session leaves it idle.
    drop((first.0, second.0));
    server.session_when_possible().await;
    assert_eq!((server.hold(&two).await, server.hold(&three).await), (404, 200));
    drop(third.0);
}

#[tokio::test]
async fn the_session_unused_for_longest_makes_room() {
    // REQ-SES-01, REQ-SES-02
    let signals = Signals::default();
    let server = start(
        builder_with(&signals),
        HttpOptions::new().settings(HttpSettings { max_sessions: 3, ..HttpSettings::default() }),
    )
    .await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(server.session("2025-11-25").await);
    }
    assert_eq!((server.hold(&ids[1]).await, server.hold(&ids[0]).await), (200, 200));
    for evicted in [2, 1] {
        ids.push(server.session("2025-11-25").await);
        assert_eq!(server.hold(&ids[evicted]).await, 404, "{evicted}");
    }
    // The state of the evicted session is dropped.
    reached(&signals.sessions_ended, 1).await;
    assert_eq!((server.hold(&ids[0]).await, server.hold(&ids[4]).await), (200, 200));
    ids.push(server.session("2025-11-25").await);
    assert_eq!((server.hold(&ids[3]).await, server.hold(&ids[0]).await), (404, 200));
    // The client learns from every kind of request that its session has ended.
    let headers = [("Mcp-Session-Id", &*ids[1])];
    for method in ["GET", "DELETE"] {
        assert_eq!(server.send(method, &headers, "").await.0, 404, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_whose_clients_leave_while_they_are_opened_can_be_evicted() {
    // REQ-SES-02
    let server = start(
        builder(),
        HttpOptions::new().settings(HttpSettings { max_sessions: 8, ..HttpSettings::default() }),
    )
    .await;
    let body = hello();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    for attempt in 0..1000 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        // The timer of the runtime is too coarse for these delays.
        std::thread::sleep(Duration::from_micros(attempt % 100 * 20));
    }
    let mut held = Vec::new();
    for _ in 0..8 {
        let session = server.session_when_possible().await;
        held.push(server.listen(&session).await);
    }
    assert_eq!(server.post(&[], hello()).await.0, 503);
    drop(held.into_iter().map(|stream| stream.0).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_session_with_an_execution_is_not_evicted() {
    // REQ-LIF-10, REQ-SES-02
    let (builder, _gate) = works();
    let server = start(
        builder,
        HttpOptions::new().settings(HttpSettings { max_sessions: 1, ..HttpSettings::default() }),
    )
    .await;
    let session = server.session("2025-11-25").await;
    let begun = json!({ "operation": "execute_export" });
    let (status, answer) = server.run(&session, "mcp_aql_execute", begun).await;
    assert_eq!(status, 200, "{answer}");
    let id = answer.split("execution_id\\\":\\\"").nth(1).and_then(|rest| rest.split('\\').next());
    let id = id.unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(server.post(&[], hello()).await.0, 503);
    let cancel = json!({ "operation": "cancel_execution", "params": { "execution_id": id } });
    assert_eq!(server.run(&session, "mcp_aql_execute", cancel).await.0, 200);
    server.session_when_possible().await;
    assert_eq!(server.send("GET", &[("Mcp-Session-Id", &session)], "").await.0, 404);
}

#[tokio::test]
async fn a_session_with_a_running_call_is_not_evicted() {
    // REQ-SES-02
    let signals = Signals::default();
    let server = start(
        builder_with(&signals),
        HttpOptions::new().settings(HttpSettings { max_sessions: 1, ..HttpSettings::default() }),
    )
    .await;
    let session = server.session("2025-11-25").await;
    let call = server.run(&session, "mcp_aql_execute", json!({ "operation": "execute_wait" }));
    let others = async {
        reached(&signals.started, 1).await;
        assert_eq!(server.post(&[], hello()).await.0, 503);
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 1 } });
        server.post(&[("Mcp-Session-Id", &session)], cancelled.to_string()).await.0
    };
    let (_, status) = tokio::join!(call, others);
    assert_eq!(status, 202);
    server.session_when_possible().await;
}
