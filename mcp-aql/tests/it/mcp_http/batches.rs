//! Tests of batches of JSON-RPC. Only MCP 2025-03-26 has them.

use std::sync::{Arc, Mutex};

use mcp_aql::HttpOptions;
use mcp_aql::auth::{Principal, StaticTokens};
use mcp_aql::transport::HttpSettings;
use serde_json::{Value, json};

use super::start;
use crate::support::adapter::builder;

fn call(id: u32, tool: &str, operation: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": { "operation": operation, "params": params } } })
}

fn note(id: u32, title: &str) -> Value {
    call(id, "mcp_aql_create", "create_note", json!({ "title": title }))
}

/// Returns the ids of the answers in a list or in events.
fn ids(answer: &str) -> Vec<u64> {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut ids: Vec<_> = body
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .flat_map(|message| message.as_array().cloned().unwrap_or_else(|| vec![message]))
        .filter_map(|message| message["id"].as_u64())
        .collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn the_version_that_has_batches_gets_an_answer_to_each_message() {
    let server = start(builder(), HttpOptions::new()).await;
    let id = server.session("2025-03-26").await;
    let own = [("Mcp-Session-Id", &*id)];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ping = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" });
    let list = |id| call(id, "mcp_aql_read", "list_notes", json!({}));
    let batch = json!([note(1, "Milk"), ready, list(2), ping, note(4, "Tea")]);
    let (status, answer) = server.post(&own, batch.to_string()).await;
    assert_eq!((status, ids(&answer)), (200, vec![1, 2, 3, 4]), "{answer}");
    // If no answer is sent as an event, the answers are sent as a list.
    let (status, answer) = server.post(&own, json!([list(5), list(6)]).to_string()).await;
    assert_eq!((status, ids(&answer)), (200, vec![5, 6]), "{answer}");
    assert!(
        answer.contains("content-type: application/json") && answer.contains("Tea"),
        "{answer}"
    );
    // An invalid message does not affect the others.
    let (status, answer) = server.post(&own, json!([7, list(8), [list(9)]]).to_string()).await;
    assert_eq!((status, ids(&answer)), (200, vec![8]), "{answer}");
    assert_eq!(answer.matches("-32600").count(), 2, "{answer}");
    assert_eq!(server.post(&own, json!([ready, ready]).to_string()).await.0, 202);
    let many = Value::from(vec![list(1); 101]).to_string();
    for refused in ["[]", &many] {
        let (status, answer) = server.post(&own, refused).await;
        assert!(status == 400 && answer.contains("-32600"), "{answer}");
    }
    let foreign = [own[0], ("Origin", "https://evil.test")];
    assert_eq!(server.post(&foreign, json!([list(1)]).to_string()).await.0, 403);
}

#[tokio::test]
async fn messages_of_a_batch_that_share_an_id_are_all_answered() {
    // REQ-ENC-01
    let server = start(builder(), HttpOptions::new()).await;
    let id = server.session("2025-03-26").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let list = call(1, "mcp_aql_read", "list_notes", json!({}));
    let batch = json!([ping, ping, note(1, "Milk"), note(1, "Tea"), list]).to_string();
    let own = [("Mcp-Session-Id", &*id)];
    let answer = server.post(&own, batch);
    let answer = tokio::time::timeout(std::time::Duration::from_secs(20), answer).await;
    let (status, answer) = answer.expect("each message is answered");
    assert_eq!((status, ids(&answer)), (200, vec![1; 5]), "{answer}");
}

#[tokio::test]
async fn other_versions_have_no_batches() {
    let server = start(builder(), HttpOptions::new()).await;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let id = server.session(version).await;
        let batch = json!([note(1, "Milk")]).to_string();
        let (status, answer) = server.post(&[("Mcp-Session-Id", &id)], batch).await;
        assert!(status == 400 && answer.contains("-32600"), "{version}: {answer}");
    }
}

#[tokio::test]
async fn without_sessions_requests_carry_their_version() {
    let server = start(
        builder(),
        HttpOptions::new().settings(HttpSettings { stateless: true, ..HttpSettings::default() }),
    )
    .await;
    let batch = json!([note(1, "Milk"), note(2, "Tea")]).to_string();
    for headers in [&[][..], &[("MCP-Protocol-Version", "2025-03-26")]] {
        let (status, answer) = server.post(headers, &batch).await;
        assert_eq!((status, ids(&answer)), (200, vec![1, 2]), "{answer}");
    }
    let later = [("MCP-Protocol-Version", "2025-06-18")];
    let (status, answer) = server.post(&later, &batch).await;
    assert!(status == 400 && answer.contains("-32600"), "{answer}");
}

#[tokio::test]
async fn the_replies_to_a_batch_have_the_room_of_one() {
    // REQ-ENC-09, REQ-ENC-13
    for sessions in [true, false] {
        let limits =
            mcp_aql::SizeLimits { max_response_size: 1 << 20, ..mcp_aql::SizeLimits::default() };
        let options = HttpOptions::new()
            .settings(HttpSettings { stateless: !sessions, ..HttpSettings::default() });
        let server = start(builder().limits(limits), options).await;
        let id = if sessions { Some(server.session("2025-03-26").await) } else { None };
        let own: Vec<_> = id.iter().map(|id| ("Mcp-Session-Id", id.as_str())).collect();
        let title = "t".repeat(300_000);
        // Some calls of a session are answered directly, and the others by rmcp.
        let list = |id| call(id, "mcp_aql_read", "get_note", json!({ "note_id": 1 }));
        let messages = (0..10).map(|id| if id < 5 { note(id, &title) } else { list(id) });
        let (status, answer) = server.post(&own, Value::from_iter(messages).to_string()).await;
        assert_eq!((status, ids(&answer)), (200, (0..10).collect()), "{sessions}");
        assert!(answer.len() < 3 << 19, "{sessions}: {} bytes", answer.len());
        assert_eq!(answer.matches(&title).count(), 3, "{sessions}: as many as have room");
        let ran = answer.matches("operation_ran\\\":true").count();
        let not_run = answer.matches("operation_ran\\\":false").count();
        let not_found = answer.matches("NOT_FOUND_RESOURCE").count();
        assert_eq!(3 + ran + not_run + not_found, 10, "{sessions}");
    }
}

/// The observed part of an event: the operation, the code of the error, and the subject of the principal.
type Event = (Option<String>, Option<&'static str>, Option<String>);

#[tokio::test]
async fn each_call_of_a_batch_is_one_event_with_its_principal() {
    // REQ-ENC-09
    for sessions in [true, false] {
        let log = Arc::new(Mutex::new(Vec::<Event>::new()));
        let seen = Arc::clone(&log);
        let limits =
            mcp_aql::SizeLimits { max_response_size: 1 << 20, ..mcp_aql::SizeLimits::default() };
        let builder = builder().limits(limits).observe(move |event| {
            let subject = event.scope.principal().map(|principal| principal.subject().to_owned());
            let code = event.code.map(|code| code.as_str());
            seen.lock().unwrap().push((event.operation.map(str::to_owned), code, subject));
        });
        let ada = Principal::new("operator", "ada").with_scopes(["notes:read", "notes:create"]);
        let tokens = StaticTokens::new().token("ada-1", ada);
        let options = HttpOptions::new()
            .settings(HttpSettings { stateless: !sessions, ..HttpSettings::default() })
            .authenticator(tokens);
        let server = start(builder, options).await;
        let bearer = ("Authorization", "Bearer ada-1");
        let id = match sessions {
            true => {
                let hello = super::hello().replace("2025-11-25", "2025-03-26");
                let (_, answer) = server.post(&[bearer], hello).await;
                let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
                Some(id.unwrap_or_else(|| panic!("{answer}")).to_owned())
            }
            false => None,
        };
        let own = id.iter().map(|id| ("Mcp-Session-Id", id.as_str())).chain([bearer]);
        let own: Vec<_> = own.collect();
        let title = "t".repeat(300_000);
        let broken = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
            "name": "mcp_aql_read", "arguments": [] } });
        let messages = (0..6).map(|id| note(id, &title)).chain([broken]);
        let (status, answer) = server.post(&own, Value::from_iter(messages).to_string()).await;
        assert_eq!((status, ids(&answer)), (200, vec![0, 1, 2, 3, 4, 5, 9]), "{answer}");
        let events = std::mem::take(&mut *log.lock().unwrap());
        // A call that was not started for lack of space in the reply has no operation.
        let ran =
            events.iter().filter(|(operation, ..)| operation.as_deref() == Some("create_note"));
        let ran = ran.count();
        let refused =
            events.iter().filter(|(_, code, _)| *code == Some("VALIDATION_PAYLOAD_TOO_LARGE"));
        assert_eq!(ran + refused.count(), 6, "{events:?}");
        assert_eq!(answer.matches("operation_ran\\\":false").count(), 6 - ran, "{events:?}");
        for (_, _, subject) in &events {
            assert_eq!(subject.as_deref(), Some("ada"), "{events:?}");
        }
    }
}
