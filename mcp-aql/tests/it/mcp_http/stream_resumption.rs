//! Tests of clients that lose their connection and resume the stream of a reply with `Last-Event-ID`.

use std::time::Duration;

use mcp_aql::HttpOptions;
use mcp_aql::transport::HttpSettings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::direct::{call, opened, soon, watching};
use super::{Server, hello, start};
use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;

const VERSION: &str = "2025-11-25";
const NOT_KEPT: &str = "The reply to this request is no longer kept";
const SESSION_ENDED: &str = "The session of this request has ended";

impl Server {
    /// Sends a request of a session, and disconnects after the first event with an id. Returns this id.
    async fn lose(&self, session: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nMcp-Session-Id: {session}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut answer, mut piece) = (String::new(), [0; 1024]);
        loop {
            if let [first, ..] = &*event_ids(&answer)
                && answer.contains("\n\n\r\n")
            {
                return first.clone();
            }
            let length = soon(stream.read(&mut piece)).await.unwrap();
            assert!(length > 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
    }

    /// Resumes a stream. Returns the status and all events.
    async fn resume(&self, session: &str, last: &str) -> (u16, String) {
        let headers = [("Mcp-Session-Id", session), ("Last-Event-ID", last)];
        soon(self.send("GET", &headers, "")).await
    }
}

/// Returns the ids of the events in an answer.
fn event_ids(answer: &str) -> Vec<String> {
    answer.lines().filter_map(|line| Some(line.strip_prefix("id: ")?.to_owned())).collect()
}

fn create(title: &str) -> String {
    let params = json!({ "operation": "create_note", "params": { "title": title } });
    call("mcp_aql_create", params).to_string()
}

/// Returns the content of the result in an answer.
fn text(answer: &str) -> Value {
    opened(answer).1["result"]["content"][0]["text"].clone()
}

/// Checks that an answer is an error for the request `a`. Clients do not reconnect after such an answer.
async fn is_lost(server: &Server, session: &str, (status, answer): (u16, String), reason: &str) {
    let (kind, message) = opened(&answer);
    assert_eq!((status, kind), (200, "text/event-stream"), "{answer}");
    assert_eq!((&message["id"], &message["error"]["code"]), (&json!("a"), &json!(-32000)));
    assert!(message["error"]["message"].as_str().unwrap().starts_with(reason), "{answer}");
    let end = &event_ids(&answer)[0];
    assert_eq!(server.resume(session, end).await.0, 204, "{end}");
}

#[tokio::test]
async fn a_stream_begins_with_an_empty_event_for_clients_that_know_it() {
    // Clients of earlier versions would report its data as an error, because it is not JSON.
    let server = start(builder(), HttpOptions::new()).await;
    let export = json!({ "operation": "execute_export", "params": { "steps": 3 } });
    let body = call("mcp_aql_execute", export).to_string();
    for (version, begins_empty) in
        [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)]
    {
        let session = server.session(version).await;
        let headers = [("Mcp-Session-Id", &*session)];
        let (_, answer) = soon(server.send("POST", &headers, &body)).await;
        let data: Vec<_> = answer.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        assert!(data.len() > 1 || !begins_empty, "{answer}");
        assert_eq!(
            data.iter().any(|data| data.trim().is_empty()),
            begins_empty,
            "{version}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_reply_is_resumed_while_its_call_runs_and_afterwards() {
    let server = start(builder(), HttpOptions::new()).await;
    let session = server.session(VERSION).await;
    let export = json!({ "operation": "execute_export", "params": { "steps": 50 } });
    let body = call("mcp_aql_execute", export).to_string();
    let first = server.lose(&session, &body).await;
    let (status, running) = server.resume(&session, &first).await;
    assert_eq!((status, text(&running)), (200, json!(r#"{"success":true,"data":50}"#)));
    let (_, finished) = server.resume(&session, &first).await;
    assert_eq!(opened(&finished), opened(&running));
    let last = event_ids(&running).pop().unwrap();
    let (status, nothing) = server.resume(&session, &last).await;
    assert!(status == 204 && opened(&nothing).1 == Value::Null, "{nothing}");
}

#[tokio::test]
async fn a_read_that_takes_long_is_resumed() {
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let session = server.session(VERSION).await;
    let watch = |id: Value, millis: u64| {
        let params = json!({ "operation": "watch_news", "params": { "millis": millis } });
        let mut call = call("mcp_aql_read", params);
        call["id"] = id;
        call.to_string()
    };
    let first = server.lose(&session, &watch(json!(7), 3_000)).await;
    let (status, answer) = server.resume(&session, &first).await;
    assert_eq!((status, text(&answer)), (200, json!(r#"{"success":true,"data":3000}"#)));
    assert_eq!(opened(&answer).1["id"], 7);
    assert_eq!((*signals.started.borrow(), *signals.cancelled.borrow()), (1, 0), "it ran once");
    // The client stays connected.
    let (_, whole) =
        soon(server.post(&[("Mcp-Session-Id", &session)], watch(json!(8), 2_300))).await;
    assert_eq!(text(&whole), r#"{"success":true,"data":2300}"#, "{whole}");
    assert!(event_ids(&whole)[1].starts_with("end/"), "{whole}");
    // A call canceled by its client has no answer, and the client does not try to resume it.
    let first = server.lose(&session, &watch(json!(9), 600_000)).await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    assert_eq!(server.post(&[("Mcp-Session-Id", &session)], cancel.to_string()).await.0, 202);
    reached(&signals.cancelled, 1).await;
    while server.resume(&session, &first).await.0 != 204 {}
}

#[tokio::test]
async fn a_cancelled_change_is_not_resumed() {
    let signals = Signals::default();
    let server = start(builder_with(&signals), HttpOptions::new()).await;
    let session = server.session(VERSION).await;
    let wait = call("mcp_aql_execute", json!({ "operation": "execute_wait" })).to_string();
    let first = server.lose(&session, &wait).await;
    reached(&signals.started, 1).await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "a" } });
    assert_eq!(server.post(&[("Mcp-Session-Id", &session)], cancel.to_string()).await.0, 202);
    reached(&signals.cancelled, 1).await;
    while server.resume(&session, &first).await.0 != 204 {}
}

#[tokio::test]
async fn a_reply_that_is_not_kept_is_answered_with_an_error() {
    let kept =
        || HttpSettings { reply_retention: Duration::from_secs(60), ..HttpSettings::default() };
    for settings in [
        HttpSettings { reply_retention: Duration::ZERO, ..kept() },
        HttpSettings { max_kept_reply_bytes: 0, ..kept() },
        HttpSettings { max_kept_reply_bytes_per_session: 0, ..kept() },
        // A newer reply replaces an older one.
        HttpSettings { max_kept_reply_bytes: 2_000, ..kept() },
        HttpSettings { max_kept_reply_bytes_per_session: 2_000, ..kept() },
    ] {
        let server = start(builder(), HttpOptions::new().settings(settings)).await;
        let session = server.session(VERSION).await;
        let first = server.lose(&session, &create("Milk")).await;
        server.lose(&session, &create("Tea")).await;
        // A finished reply is removed after its last event.
        let lost = loop {
            let (status, answer) = server.resume(&session, &first).await;
            if !answer.contains("Milk") {
                break (status, answer);
            }
        };
        is_lost(&server, &session, lost, NOT_KEPT).await;
    }
}

#[tokio::test]
async fn the_end_of_a_session_answers_its_requests() {
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let other = start(builder(), HttpOptions::new()).await;
    let [session, second] = [server.session(VERSION).await, server.session(VERSION).await];
    let first = server.lose(&session, &create("Milk")).await;
    // This is the id of an event in another session.
    let lost = server.resume(&second, &first).await;
    is_lost(&server, &second, lost, NOT_KEPT).await;
    // A restarted server does not know the session.
    let lost = other.resume(&session, &first).await;
    is_lost(&other, &session, lost, SESSION_ENDED).await;
    // The client has ended this session.
    assert_eq!(server.send("DELETE", &[("Mcp-Session-Id", &session)], "").await.0, 202);
    let lost = server.resume(&session, &first).await;
    is_lost(&server, &session, lost, SESSION_ENDED).await;
    // Only resumed streams are answered in this way.
    assert_eq!(server.post(&[("Mcp-Session-Id", &session)], create("Tea")).await.0, 404);
    assert_eq!(server.send("GET", &[("Mcp-Session-Id", &session)], "").await.0, 404);
    // These ids do not belong to a request of this server.
    for id in ["0/7", "7", "0/events/01234567", "end", &"x".repeat(1_000)] {
        assert_eq!(server.resume(&session, id).await.0, 404, "{id}");
        assert_eq!(server.resume(&second, id).await.0, 400, "{id}");
    }
}

#[tokio::test]
async fn a_lost_reply_is_answered_by_an_id_of_any_form() {
    let server = start(builder(), HttpOptions::new()).await;
    let session = server.session(VERSION).await;
    for id in ["7", "-9223372036854775809", r#""é \"/%\n""#, r#""""#] {
        let body = create("Milk").replace(r#""id":"a""#, &format!(r#""id":{id}"#));
        let first = server.lose(&session, &body).await;
        let (status, answer) = server.resume("none", &first).await;
        assert!(
            status == 200 && answer.contains(&format!(r#""id":{id},"error""#)),
            "{id}: {answer}"
        );
    }
    // A long id is not included in the ids of events.
    let id = "9".repeat(300);
    let body = create("Milk").replace(r#""id":"a""#, &format!(r#""id":{id}"#));
    let first = server.lose(&session, &body).await;
    assert!(text(&server.resume(&session, &first).await.1).as_str().unwrap().contains("Milk"));
    assert_eq!(server.resume("none", &first).await.0, 404);
}

#[tokio::test]
async fn the_stream_of_a_session_is_resumed_and_opening_a_session_is_not() {
    let server = start(builder(), HttpOptions::new()).await;
    let (_, answer) = server.post(&[], hello()).await;
    assert!(event_ids(&answer).is_empty(), "nothing is kept for it: {answer}");
    let session = server.session(VERSION).await;
    let open = async |last: Option<&str>| {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{last}\r\n",
            server.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut answer, mut piece) = (String::new(), [0; 1024]);
        while !answer.contains("\r\n\r\n") || (last.is_empty() && event_ids(&answer).is_empty()) {
            let length = soon(stream.read(&mut piece)).await.unwrap();
            assert!(length > 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
        answer
    };
    let first = event_ids(&open(None).await).pop().unwrap();
    assert_eq!(first, format!("0/events/{}", &session[..8]));
    assert!(open(Some(&first)).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn without_sessions_nothing_is_resumed() {
    let server = start(
        builder(),
        HttpOptions::new().settings(HttpSettings { stateless: true, ..HttpSettings::default() }),
    )
    .await;
    let export = json!({ "operation": "execute_export", "params": { "steps": 2 } });
    let mut call = call("mcp_aql_execute", export);
    call["params"]["_meta"] = json!({ "progressToken": 1 });
    let (status, answer) = server.post(&[], call.to_string()).await;
    assert!(status == 200 && answer.contains(r#"\"success\":true"#), "{answer}");
    assert!(event_ids(&answer).is_empty(), "{answer}");
    assert_eq!(server.resume("01234567", "1/7/01234567/7").await.0, 405);
}
