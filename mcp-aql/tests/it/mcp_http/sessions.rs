//! Tests of sessions, and of clients that disconnect.

use std::time::Duration;

use mcp_aql::HttpOptions;
use mcp_aql::transport::HttpSettings;
use serde_json::{Value, json};

use super::{call, hello, newest, request, start};
use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;

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
    // The new state has replaced the state of the first client.
    reached(&signals.sessions_ended, 1).await;
    one.cancel().await.unwrap();
    reached(&signals.sessions_ended, 2).await;
    assert_eq!(call(&two, "execute_hold").await["data"], 2);
    server.stop.send(()).unwrap();
    server.done.await.unwrap().unwrap();
    // Stopping the server ends its sessions.
    reached(&signals.sessions_ended, 4).await;
}

#[tokio::test]
async fn an_unused_session_ends() {
    // REQ-SES-02
    let signals = Signals::default();
    let options = HttpOptions::new().settings(HttpSettings {
        session_timeout: Duration::from_millis(50),
        ..HttpSettings::default()
    });
    let server = start(builder_with(&signals), options).await;
    let body = hello();
    let (status, answer) = server.post(&[], &body).await;
    assert_eq!(status, 200);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let hold = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_execute", "arguments": { "operation": "execute_hold" } } });
    let (held, _) = server.post(&[("Mcp-Session-Id", id)], &hold.to_string()).await;
    // On a slow machine, the session may have ended before the call. In this case, no state is dropped.
    if held == 200 {
        reached(&signals.sessions_ended, 1).await;
    }
    loop {
        let (status, _) = server.post(&[("Mcp-Session-Id", id)], &hold.to_string()).await;
        if status == 404 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.stop.send(()).unwrap();
    server.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn without_sessions_none_is_reported() {
    // REQ-SES-01, REQ-SES-05
    let server = start(
        builder(),
        HttpOptions::new().settings(HttpSettings { stateless: true, ..HttpSettings::default() }),
    )
    .await;
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
    let (headers, body) = newest("show_caller");
    let forged = [&headers[..], &[("Mcp-Session-Id", "forged")]].concat();
    let (status, answer) = server.post(&forged, body).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains(r#"\"session\":null"#), "{answer}");
}

#[tokio::test]
async fn a_cancelled_request_cancels_its_operation() {
    // MCP: a client that stops waiting cancels its request
    let signals = Signals::default();
    let server = start(builder_with(&signals), HttpOptions::new()).await;
    let client = server.connect().await;
    let peer = client.peer().clone();
    let waiting = tokio::spawn(async move {
        let wait = json!({ "operation": "execute_wait" });
        peer.call_tool(request("mcp_aql_execute", &wait)).await
    });
    reached(&signals.started, 1).await;
    waiting.abort();
    reached(&signals.cancelled, 1).await;
}

#[tokio::test]
async fn a_finished_reply_can_be_fetched_again() {
    let server = start(builder(), HttpOptions::new()).await;
    let (own, other) = (server.session("2025-11-25").await, server.session("2025-11-25").await);
    let create = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "mcp_aql_create",
        "arguments": { "operation": "create_note", "params": { "title": "Milk" } } } });
    let (_, answer) = server.post(&[("Mcp-Session-Id", &own)], create.to_string()).await;
    let ids: Vec<_> = answer.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids.len(), 2, "one before the call, and one with its reply: {answer}");
    let fetch = async |session: &str, last: &str| {
        let headers = [("Mcp-Session-Id", session), ("Last-Event-ID", last)];
        server.send("GET", &headers, "").await
    };
    let (status, again) = fetch(&own, ids[0]).await;
    assert_eq!(status, 200, "{again}");
    assert!(again.contains(r#""id":7,"#) && again.contains("Milk"), "{again}");
    assert!(again.contains(&format!("id: {}", ids[1])), "{again}");
    assert_eq!(fetch(&own, ids[1]).await.0, 204, "nothing is left");
    let (_, nothing) = fetch(&other, ids[0]).await;
    assert!(!nothing.contains("Milk"), "of another session: {nothing}");
    // The note was created once.
    let list = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "list_notes" } } });
    let (_, notes) = server.post(&[("Mcp-Session-Id", &own)], list.to_string()).await;
    assert_eq!(notes.matches("Milk").count(), 1, "{notes}");
}

/// A slow in-memory audit log.
#[derive(Clone, Default)]
struct SlowLog(std::sync::Arc<std::sync::Mutex<String>>);

impl mcp_aql::audit::AuditSink for SlowLog {
    fn append<'a>(&'a self, line: &'a str) -> mcp_aql::BoxFuture<'a, std::io::Result<()>> {
        Box::pin(async move {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            self.0.lock().unwrap().push_str(line);
            Ok(())
        })
    }
}

#[tokio::test]
async fn the_end_of_the_server_revokes_the_tokens_of_its_sessions() {
    // REQ-SES-02, REQ-TOK-12, REQ-TOK-16
    let log = SlowLog::default();
    let server = start(builder().audit_sink(log.clone()), HttpOptions::new()).await;
    let delete = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_delete", "arguments": { "operation": "delete_notes" } } });
    let mut sessions = Vec::new();
    for _ in 0..10 {
        let id = server.session("2025-11-25").await;
        for _ in 0..3 {
            let (_, answer) = server.post(&[("Mcp-Session-Id", &id)], delete.to_string()).await;
            assert!(answer.contains("CONFIRMATION_REQUIRED"), "{answer}");
        }
        sessions.push(id);
    }
    // Some sessions end shortly before the server stops.
    for id in &sessions[..5] {
        assert_eq!(server.send("DELETE", &[("Mcp-Session-Id", id)], "").await.0, 202);
    }
    server.stop.send(()).unwrap();
    server.done.await.unwrap().unwrap();
    let log = log.0.lock().unwrap();
    assert_eq!(
        (log.matches("TOKEN_ISSUED").count(), log.matches("TOKEN_REVOKED").count()),
        (30, 30)
    );
}
