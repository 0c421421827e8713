//! Tests of limits on connections and on the bytes of pending requests.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use mcp_aql::transport::HttpSettings;
use mcp_aql::{HttpOptions, SizeLimits};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Server, newest, start};
use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;

async fn answers(server: &Server) -> bool {
    let (headers, body) = newest("list_notes");
    server.post(&headers, body).await.0 == 200
}

/// Opens a connection and sends the beginning of a request.
async fn sent(server: &Server, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Returns a request for a call that runs until it is canceled. `text` is added as metadata.
fn waiting_call(session: &str, id: u32, text: &str) -> String {
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "mcp_aql_execute",
        "arguments": { "operation": "execute_wait", "_text": text } } });
    let call = call.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nMcp-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{call}",
        call.len()
    )
}

/// Returns the output until the server closes the connection.
async fn read_to_end(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection reset counts as the end.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn idle_connections_make_room_the_oldest_first() {
    let signals = Signals::default();
    let server = start(
        builder_with(&signals),
        HttpOptions::new().settings(HttpSettings { max_connections: 4, ..HttpSettings::default() }),
    )
    .await;
    // A running call keeps its connection.
    let session = server.session("2025-11-25").await;
    let busy = sent(&server, &waiting_call(&session, 1, "")).await;
    reached(&signals.started, 1).await;
    // Without the limit, each of these connections would stay open until the client timeout.
    let mut idle = Vec::new();
    for place in 0..250 {
        let text = if place % 2 == 0 { "" } else { "POST /mcp HTTP/1.1\r\nHost: loc" };
        idle.push(sent(&server, text).await);
    }
    assert!(answers(&server).await, "a new client is answered");
    // At most three of the 250 idle connections remain: the newest ones.
    for stream in idle.drain(..247) {
        assert_eq!(read_to_end(stream).await, "");
    }
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 1 } });
    let own = [("Mcp-Session-Id", &*session)];
    assert_eq!(server.post(&own, cancel.to_string()).await.0, 202);
    reached(&signals.cancelled, 1).await;
    let mut head = [0; 15];
    let mut busy = busy;
    busy.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
}

#[tokio::test]
async fn unfinished_bodies_are_given_up_the_oldest_first() {
    // A request may use three times its limit, plus 64 KiB.
    let limits = SizeLimits { max_request_size: 64 << 10, ..SizeLimits::default() };
    let options = HttpOptions::new()
        .settings(HttpSettings { max_inflight_bytes: 600 << 10, ..HttpSettings::default() });
    let server = start(builder().limits(limits), options).await;
    const PART: usize = 200 << 10;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{{\"id\":5,\"x\":\"",
        PART + 100,
    );
    let text = head + &"x".repeat(PART);
    let mut unfinished = FuturesUnordered::new();
    for _ in 0..80 {
        unfinished.push(read_to_end(sent(&server, &text).await));
    }
    assert!(answers(&server).await, "a whole request has room");
    // At most three requests fit into 600 KiB. If a connection is closed with unread bytes, its answer may be lost.
    let mut refused = 0;
    for _ in 0..77 {
        let answer = unfinished.next().await.unwrap();
        refused += u32::from(!answer.is_empty());
        let expected = ["HTTP/1.1 503 ", "retry-after: 10\r\n", r#""id":5,"error":{"code":-32000"#];
        assert!(answer.is_empty() || expected.iter().all(|part| answer.contains(part)), "{answer}");
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn running_calls_do_not_count_towards_pending_bytes() {
    let signals = Signals::default();
    // The longest request needs 256 KiB, so this becomes the limit.
    let limits = SizeLimits { max_request_size: 64 << 10, ..SizeLimits::default() };
    let options = HttpOptions::new()
        .settings(HttpSettings { max_inflight_bytes: 1, ..HttpSettings::default() });
    let server = start(builder_with(&signals).limits(limits), options).await;
    let session = server.session("2025-11-25").await;
    let text = "x".repeat(64_000);
    let mut running = Vec::new();
    for id in 1..=4 {
        running.push(sent(&server, &waiting_call(&session, id, &text)).await);
    }
    reached(&signals.started, 4).await;
    let read = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "list_notes", "_text": text } } });
    let (status, answer) = server.post(&[("Mcp-Session-Id", &session)], read.to_string()).await;
    assert_eq!(status, 200, "{answer}");
}
