//! Tests of calls that are answered without rmcp. Their answers are compared with those of rmcp.

use std::sync::Arc;
use std::time::Duration;

use mcp_aql::gatekeeper::Preview;
use mcp_aql::observe::{CallEvent, CallOutcome};
use mcp_aql::prelude::*;
use mcp_aql::table::{Call, OperationEntry, OperationSpec};
use mcp_aql::table::{ParameterEntry, ParameterSpec, ReturnsSpec};
use mcp_aql::transport::HttpSettings;
use mcp_aql::{AdapterBuilder, Concurrency, HttpOptions, Operations, SemanticCategory};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};

use super::{Server, hello, start};
use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;

/// A READ that waits for a duration, or until its caller cancels it.
struct Watch(Signals);

impl Operations for Watch {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
        OperationSpec::new("watch_news", SemanticCategory::Read, "Wait for news.")
            .parameters(&[ParameterEntry::One(ParameterSpec::required::<u64>(
                "millis",
                "How long, in milliseconds.",
            ))])
            .returns(ReturnsSpec::of::<u64, _>()),
        |watch, mut call: Call| {
            Box::pin(async move {
                let millis = call.param::<u64>()?;
                let told = CancelCounter(Arc::clone(&watch.0.cancelled));
                watch.0.started.send_modify(|count| *count += 1);
                tokio::time::sleep(Duration::from_millis(millis)).await;
                std::mem::forget(told);
                call.reply(millis)
            })
        },
    )];
}

/// Counts the canceled calls.
struct CancelCounter(Arc<tokio::sync::watch::Sender<u32>>);

impl Drop for CancelCounter {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count += 1);
    }
}

pub(super) fn watching(signals: &Signals) -> AdapterBuilder {
    builder_with(signals).operations(Watch(signals.clone()))
}

/// Returns the content type and the JSON-RPC message of an answer.
pub(super) fn opened(answer: &str) -> (&str, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or("");
    let message = body
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .find(|line| line.starts_with('{'));
    (kind, message.map_or(Value::Null, |text| serde_json::from_str(text).unwrap()))
}

async fn session(server: &Server) -> String {
    let (_, answer) = server.post(&[], hello()).await;
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert_eq!(server.post(&[("Mcp-Session-Id", id)], ready).await.0, 202);
    id.to_owned()
}

pub(super) fn call(tool: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/call",
        "params": { "name": tool, "arguments": arguments } })
}

fn alone(tool: &str, arguments: Value) -> ([(&'static str, String); 3], Value) {
    let mut call = call(tool, arguments);
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", "tools/call".to_owned()),
        ("Mcp-Name", tool.to_owned()),
    ];
    (headers, call)
}

/// Awaits an answer. Panics after a timeout.
pub(super) async fn soon<T>(answer: impl Future<Output = T>) -> T {
    let answer = tokio::time::timeout(Duration::from_secs(60), answer).await;
    answer.unwrap_or_else(|_| panic!("the call still runs"))
}

/// A header with which the request is handled by rmcp.
const DETOUR: (&str, &str) = ("Accept", "application/json;q=1, text/event-stream");

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

#[tokio::test]
async fn direct_answers_equal_those_of_rmcp() {
    // REQ-MCP-09, REQ-MCP-10, REQ-MCP-12
    let server = start(builder(), HttpOptions::new()).await;
    let id = session(&server).await;
    let create = json!({ "operation": "create_note", "params": { "title": "Milk" } });
    let (_, answer) =
        server.post(&[("Mcp-Session-Id", &id)], call("mcp_aql_create", create).to_string()).await;
    assert_eq!(opened(&answer).0, EVENTS, "a reply that can be fetched again: {answer}");

    let read = "mcp_aql_read";
    for (tool, arguments) in [
        (read, json!({ "operation": "list_notes" })),
        (read, json!({ "operation": "get_note", "params": { "note_id": 1 } })),
        (read, json!({ "operation": "get_note", "note_id": 1 })),
        (read, json!({ "operation": "get_note", "params": { "note_id": 9 } })),
        (read, json!({ "operation": "get_note", "params": { "noteid": 1 } })),
        (
            read,
            json!({ "operation": "introspect", "params": { "query": "operations", "prefix": "get" } }),
        ),
        (read, json!({ "operation": "execute_panic" })),
        (read, json!({ "operation": "nope" })),
        (read, json!({})),
        (read, json!({ "operations": [{ "operation": "list_notes" }] })),
        ("mcp_aql_create", json!({ "operation": "list_notes" })),
        ("nope", json!({ "operation": "list_notes" })),
    ] {
        let in_session = call(tool, arguments.clone()).to_string();
        let headers = [("Mcp-Session-Id", id.as_str())];
        let plain = server.post(&headers, &in_session).await;
        let other = server.post_as(DETOUR, &headers, &in_session).await;
        assert_eq!((plain.0, opened(&plain.1).1), (other.0, opened(&other.1).1), "{in_session}");

        let (headers, body) = alone(tool, arguments);
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let plain = server.post(&headers, body.to_string()).await;
        let other = server.post_as(DETOUR, &headers, body.to_string()).await;
        assert_eq!((plain.0, opened(&plain.1).1), (other.0, opened(&other.1).1), "{body}");
        if tool == read {
            assert_eq!((opened(&plain.1).0, opened(&other.1).0), (JSON, EVENTS), "{body}");
        }
    }
    let panics = json!({ "operation": "execute_panic" });
    let (headers, body) = alone("mcp_aql_execute", panics);
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (_, answer) = server.post(&headers, body.to_string()).await;
    let (kind, message) = opened(&answer);
    assert_eq!((kind, &message["result"]["isError"]), (JSON, &json!(true)), "{answer}");
}

#[tokio::test]
async fn unusual_headers_are_handled_by_rmcp() {
    // REQ-MCP-12
    let server = start(builder(), HttpOptions::new().allow_host("tasks.test:8443")).await;
    let (headers, body) = alone("mcp_aql_read", json!({ "operation": "list_notes" }));
    let own = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    for (more, status, kind) in [
        (vec![], 200, JSON),
        (vec![("Host", "LOCALHOST")], 200, JSON),
        (vec![("Host", "localhost:65536")], 200, EVENTS),
        (vec![("Host", "tasks.test")], 403, ""),
        (vec![("Host", "tasks.test:8443")], 200, EVENTS),
        (vec![("Host", "evil.test")], 403, ""),
        (vec![("Origin", "http://localhost")], 200, EVENTS),
        (vec![("Origin", "http://evil.test")], 403, ""),
        (vec![("Mcp-Param-X", "1")], 200, EVENTS),
        (vec![("Mcp-Session-Id", "forged")], 200, EVENTS),
    ] {
        let (actual, answer) = server.post(&[&own[..], &more].concat(), body.to_string()).await;
        assert_eq!(actual, status, "{more:?}: {answer}");
        if status == 200 {
            assert_eq!(opened(&answer).0, kind, "{more:?}: {answer}");
        }
    }
    for (index, wrong) in
        [(0, "2025-11-25"), (0, "1999-01-01"), (1, "tools/list"), (2, "mcp_aql_create")]
    {
        let mut headers = own;
        headers[index].1 = wrong;
        let (status, answer) = server.post(&headers, body.to_string()).await;
        assert_eq!(status, 400, "{wrong}: {answer}");
    }
}

#[tokio::test]
async fn a_slow_reply_comes_as_an_event() {
    // REQ-MCP-09
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let arguments = json!({ "operation": "watch_news", "params": { "millis": 2_300 } });
    let (headers, body) = alone("mcp_aql_read", arguments.clone());
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (status, answer) = server.post(&headers, body.to_string()).await;
    let (kind, message) = opened(&answer);
    assert_eq!((status, kind), (200, EVENTS), "{answer}");
    assert!(answer.contains("x-accel-buffering: no\r\n"), "{answer}");
    assert_eq!(
        message["result"]["content"][0]["text"], r#"{"success":true,"data":2300}"#,
        "{answer}"
    );
}

#[tokio::test]
async fn a_read_is_cancelled_with_its_caller() {
    // REQ-SES-02; MCP: a client that stops waiting cancels its request
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let id = session(&server).await;
    let watch = json!({ "operation": "watch_news", "params": { "millis": 600_000 } });
    let in_session = call("mcp_aql_read", watch.clone()).to_string();
    let headers = [("Mcp-Session-Id", id.as_str())];

    // The client disconnects.
    let (own, body) = alone("mcp_aql_read", watch);
    let own = own.each_ref().map(|(name, value)| (*name, value.as_str()));
    tokio::select! {
        answer = server.post(&own, body.to_string()) => panic!("{answer:?}"),
        () = reached(&signals.started, 1) => {}
    }
    reached(&signals.cancelled, 1).await;

    // The client cancels the request.
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "a" } })
    .to_string();
    let (waiting, cancelled) = tokio::join!(soon(server.post(&headers, &in_session)), async {
        reached(&signals.started, 2).await;
        server.post(&headers, cancel).await
    });
    assert_eq!((waiting.0, cancelled.0), (200, 202));
    assert_eq!(opened(&waiting.1), (EVENTS, Value::Null));
    reached(&signals.cancelled, 2).await;

    // The client closes the session.
    let (waiting, left) = tokio::join!(soon(server.post(&headers, &in_session)), async {
        reached(&signals.started, 3).await;
        server.leave(&id).await
    });
    assert!(left.starts_with("HTTP/1.1 202"), "{left}");
    assert!(waiting.1.contains("INTERNAL_ERROR") || waiting.0 != 200, "{}", waiting.1);
    reached(&signals.cancelled, 3).await;
}

/// Counts the previews of `discard_news`.
#[derive(Clone, Default)]
struct Previews(Arc<watch::Sender<u32>>);

/// Discard the news.
#[operation(category = "DELETE", danger(level = "destructive"), preview = preview_discarding)]
fn discard_news(State(_previews): State<Previews>) {
    panic!("the caller is gone");
}

async fn preview_discarding(State(previews): State<Previews>) -> Preview {
    previews.0.send_modify(|count| *count += 1);
    Preview::unchanged()
}

#[tokio::test]
async fn a_change_that_waits_for_its_turn_is_cancelled_with_its_caller() {
    // REQ-CON-01, REQ-RQ-08
    let (signals, previews) = (Signals::default(), Previews::default());
    let cancelled = Arc::<watch::Sender<u32>>::default();
    let count = Arc::clone(&cancelled);
    let observe = move |event: &CallEvent<'_>| {
        if event.outcome == CallOutcome::Cancelled {
            count.send_modify(|count| *count += 1);
        }
    };
    let adapter = watching(&signals).operation(discard_news {}).state(previews.clone());
    let adapter = adapter.concurrency(Concurrency::Serialized).observe(observe);
    let server = start(adapter, HttpOptions::new()).await;
    let post = async |tool: &str, arguments: Value| {
        let (headers, body) = alone(tool, arguments);
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        server.post(&headers, body.to_string()).await.1
    };
    let discard = async |params: Value| {
        let arguments = json!({ "operation": "discard_news", "params": params });
        post("mcp_aql_delete", arguments).await
    };
    let asked = discard(json!({})).await;
    let asked = opened(&asked).1["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let asked: Value = serde_json::from_str(&asked).unwrap();
    let token = json!({ "_confirmation": asked["error"]["details"]["confirmation_token"] });
    let watch = json!({ "operation": "watch_news", "params": { "millis": 600_000 } });
    tokio::select! {
        answer = post("mcp_aql_read", watch) => panic!("{answer}"),
        () = async {
            reached(&signals.started, 1).await;
            // The client disconnects after the preview, when the call can only wait.
            tokio::select! {
                answer = discard(token) => panic!("{answer}"),
                () = reached(&previews.0, 2) => {}
            }
            reached(&cancelled, 1).await;
        } => {}
    }
}

#[tokio::test]
async fn a_read_is_cancelled_when_the_server_stops() {
    // REQ-SES-02
    let signals = Signals::default();
    let server = start(watching(&signals).drain_timeout(Duration::ZERO), HttpOptions::new()).await;
    let watch = json!({ "operation": "watch_news", "params": { "millis": 600_000 } });
    let (headers, body) = alone("mcp_aql_read", watch);
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (stop, done) = (server.stop, server.done);
    let server = Server {
        address: server.address,
        stop: oneshot::channel().0,
        done: tokio::spawn(async { Ok(()) }),
    };
    let stopped = async {
        reached(&signals.started, 1).await;
        stop.send(()).unwrap();
        reached(&signals.cancelled, 1).await;
    };
    let (answer, ()) = tokio::join!(soon(server.post(&headers, body.to_string())), stopped);
    // The call ends before its connection is dropped.
    assert!(answer.0 == 200 && answer.1.contains("INTERNAL_ERROR"), "{answer:?}");
    soon(done).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_body_in_pieces_is_answered_like_one_in_one_piece() {
    let server = start(builder(), HttpOptions::new()).await;
    let (headers, body) = alone("mcp_aql_read", json!({ "operation": "list_notes" }));
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let body = body.to_string();
    let (_, whole) = server.post(&headers, &body).await;
    assert_eq!(opened(&whole).1["result"]["isError"], false, "{whole}");
    for cut in [0, 1, body.len() / 2, body.len() - 1] {
        let pieces = [&body.as_bytes()[..cut], &body.as_bytes()[cut..]];
        let (status, answer) = server.send_in_pieces("POST /mcp", &headers, &pieces).await;
        assert_eq!((status, opened(&answer)), (200, opened(&whole)), "{cut}");
    }
}

#[tokio::test]
async fn the_paths_below_the_endpoint_belong_to_it() {
    let server = start(builder(), HttpOptions::new()).await;
    for (path, status) in [("/mcp", 200), ("/mcp/", 200), ("/mcp/x", 200), ("/mcpx", 404)] {
        let body = hello();
        let target = format!("POST {path}");
        let answer = server.send_in_pieces(&target, &[], &[body.as_bytes()]).await;
        assert_eq!(answer.0, status, "{path}: {}", answer.1);
    }
}

#[tokio::test]
async fn a_read_is_cancelled_in_whatever_form() {
    // MCP: a client may cancel any request of its own
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let id = session(&server).await;
    let headers = [("Mcp-Session-Id", id.as_str())];
    let arguments = json!({ "operation": "watch_news", "params": { "millis": 600_000 } });
    for (count, (called, cancelled)) in (1..).zip([
        (r#""\u00e9""#, r#""é""#),
        (r#""é""#, r#""\u00e9""#),
        (r#""\u00e9""#, r#""\u00e9""#),
        ("7", "7"),
    ]) {
        let request = call("mcp_aql_read", arguments.clone()).to_string();
        let request = request.replace(r#""id":"a""#, &format!(r#""id":{called}"#));
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{cancelled}}}}}"#
        );
        let (waiting, cancelled) = tokio::join!(soon(server.post(&headers, &request)), async {
            reached(&signals.started, count).await;
            server.post_as(DETOUR, &headers, cancel).await
        });
        assert_eq!((waiting.0, cancelled.0), (200, 202), "{called}");
        assert_eq!(opened(&waiting.1), (EVENTS, Value::Null), "{called}");
    }
    reached(&signals.cancelled, 4).await;
}

#[tokio::test]
async fn an_id_that_is_used_twice_at_once_is_answered_twice() {
    // REQ-ENC-01
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let id = session(&server).await;
    let headers = [("Mcp-Session-Id", id.as_str())];
    let watch = |millis: u64| {
        let arguments = json!({ "operation": "watch_news", "params": { "millis": millis } });
        call("mcp_aql_read", arguments).to_string()
    };
    let (long, short) = tokio::join!(soon(server.post(&headers, watch(900))), async {
        reached(&signals.started, 1).await;
        server.post(&headers, watch(10)).await
    });
    for (answer, millis) in [(long.1, 900), (short.1, 10)] {
        let text = &opened(&answer).1["result"]["content"][0]["text"];
        assert_eq!(*text, format!(r#"{{"success":true,"data":{millis}}}"#), "{answer}");
    }
}

#[tokio::test]
async fn changes_that_share_an_id_are_all_answered() {
    // REQ-ENC-01
    let server = start(builder(), HttpOptions::new()).await;
    let id = session(&server).await;
    let headers = [("Mcp-Session-Id", id.as_str())];
    let export = |steps: u32| {
        let arguments = json!({ "operation": "execute_export", "params": { "steps": steps } });
        let body = call("mcp_aql_execute", arguments).to_string();
        let server = &server;
        async move { soon(server.post(&headers, body)).await }
    };
    let (long, middle, short) = tokio::join!(export(40), export(20), export(1));
    for (answer, steps) in [(long.1, 40), (middle.1, 20), (short.1, 1)] {
        let message = opened(&answer).1;
        assert_eq!(message["id"], "a", "{answer}");
        let text = &message["result"]["content"][0]["text"];
        assert_eq!(*text, format!(r#"{{"success":true,"data":{steps}}}"#), "{answer}");
    }
}

#[tokio::test]
async fn a_cancellation_ends_all_changes_with_its_id() {
    // MCP: a client may cancel any request of its own
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let session = session(&server).await;
    let headers = [("Mcp-Session-Id", session.as_str())];
    let wait = call("mcp_aql_execute", json!({ "operation": "execute_wait" })).to_string();
    for (count, id) in (1..).zip([r#""\u00e9""#, "7", "9223372036854775808"]) {
        let wait = wait.replace(r#""id":"a""#, &format!(r#""id":{id}"#));
        let other = id.replace(r"\u00e9", "é");
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{other}}}}}"#
        );
        let (one, two, cancelled) = tokio::join!(
            soon(server.post(&headers, &wait)),
            soon(server.post(&headers, &wait)),
            async {
                reached(&signals.started, 2 * count).await;
                server.post(&headers, cancel).await
            }
        );
        assert_eq!((one.0, two.0, cancelled.0), (200, 200, 202), "{id}");
        assert_eq!([opened(&one.1).1, opened(&two.1).1], [Value::Null, Value::Null], "{id}");
        reached(&signals.cancelled, 2 * count).await;
    }
}

#[tokio::test]
async fn a_change_that_has_begun_outlives_its_caller() {
    // REQ-MCP-09
    let signals = Signals::default();
    let server = start(watching(&signals), HttpOptions::new()).await;
    let (own, body) = alone("mcp_aql_execute", json!({ "operation": "execute_wait" }));
    let own = own.each_ref().map(|(name, value)| (*name, value.as_str()));
    tokio::select! {
        answer = server.post(&own, body.to_string()) => panic!("{answer:?}"),
        () = reached(&signals.started, 1) => {}
    }
    // The operation was notified of the cancellation, and ended by itself.
    reached(&signals.cancelled, 1).await;
}

#[tokio::test]
async fn a_session_in_use_does_not_end() {
    // REQ-SES-02
    let session_timeout = Duration::from_secs(3);
    let server = start(
        builder(),
        HttpOptions::new().settings(HttpSettings { session_timeout, ..HttpSettings::default() }),
    )
    .await;
    let id = session(&server).await;
    let list = call("mcp_aql_read", json!({ "operation": "list_notes" })).to_string();
    for _ in 0..10 {
        let (status, answer) = server.post(&[("Mcp-Session-Id", &id)], &list).await;
        assert_eq!((status, opened(&answer).0), (200, JSON), "{answer}");
        tokio::time::sleep(session_timeout / 6).await;
    }
    // A call before the end of the session prolongs it.
    for wait in 2.. {
        tokio::time::sleep(session_timeout * wait).await;
        match server.post(&[("Mcp-Session-Id", &id)], &list).await.0 {
            404 => break,
            status => assert!(status == 200 && wait < 5, "{status}"),
        }
    }
}

#[tokio::test]
async fn a_session_does_not_end_while_it_reads() {
    // REQ-SES-02
    let signals = Signals::default();
    let options = HttpOptions::new().settings(HttpSettings {
        session_timeout: Duration::from_secs(3),
        ..HttpSettings::default()
    });
    let server = start(watching(&signals), options).await;
    let id = session(&server).await;
    let headers = [("Mcp-Session-Id", id.as_str())];
    let watch = json!({ "operation": "watch_news", "params": { "millis": 5_000 } });
    let watch = call("mcp_aql_read", watch).to_string();
    let (_, answer) = soon(server.post(&headers, &watch)).await;
    let text = &opened(&answer).1["result"]["content"][0]["text"];
    assert_eq!(text, r#"{"success":true,"data":5000}"#, "{answer}");
    let list = call("mcp_aql_read", json!({ "operation": "list_notes" })).to_string();
    assert_eq!(server.post(&headers, &list).await.0, 200);
}

#[tokio::test]
async fn a_repeated_member_is_refused_in_whatever_form() {
    // REQ-RQ-01, REQ-RQ-08
    let server = start(builder(), HttpOptions::new()).await;
    let id = session(&server).await;
    let twice = |call: Value| {
        call.to_string().replace(r#""title":"Milk""#, r#""title":"Tea","title":"Milk""#)
    };
    let create = json!({ "operation": "create_note", "params": { "title": "Milk" } });
    let (alone_headers, alone_call) = alone("mcp_aql_create", create.clone());
    let alone_headers = alone_headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let of_session = call("mcp_aql_create", create);
    let in_session = [("Mcp-Session-Id", id.as_str())];
    for (headers, body) in [
        (&alone_headers[..], &alone_call),
        (&[&alone_headers[..], &[DETOUR]].concat()[..], &alone_call),
        (&in_session[..], &of_session),
        (&[&in_session[..], &[DETOUR]].concat()[..], &of_session),
    ] {
        let (status, answer) = server.post(headers, twice(body.clone())).await;
        assert_eq!(status, 200, "{answer}");
        let text = opened(&answer).1["result"]["content"][0]["text"].to_string();
        assert!(text.contains("VALIDATION_INVALID_VALUE"), "{answer}");
        assert!(text.contains("params.title"), "{answer}");
        let name = r#""name":"mcp_aql_create""#;
        let named = body.to_string().replace(name, &format!("{name},{name}"));
        let (_, answer) = server.post(headers, named).await;
        assert!(answer.contains("repeats its member 'name'"), "{answer}");
    }
    let list = json!({ "operation": "list_notes" });
    let (_, answer) = server.post(&in_session, call("mcp_aql_read", list).to_string()).await;
    assert!(!answer.contains("Milk"), "nothing was stored: {answer}");
}

#[tokio::test]
async fn an_id_of_any_size_is_answered_in_whatever_form() {
    let server = start(builder(), HttpOptions::new()).await;
    let session = session(&server).await;
    let id = "9223372036854775808";
    let of_id = |call: &Value| call.to_string().replace(r#""id":"a""#, &format!(r#""id":{id}"#));
    let list = json!({ "operation": "list_notes" });
    let create = json!({ "operation": "create_note", "params": { "title": "Milk" } });
    let in_session = [("Mcp-Session-Id", session.as_str())];
    let (alone_headers, alone_call) = alone("mcp_aql_read", list.clone());
    let alone_headers = alone_headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let ping = json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" });
    let tools = json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" });
    let hello = hello().replace(r#""id":0"#, &format!(r#""id":{id}"#));
    for (headers, body) in [
        (&[][..], hello),
        (&in_session[..], of_id(&tools)),
        (&in_session[..], of_id(&call("mcp_aql_read", list))),
        (&in_session[..], of_id(&call("mcp_aql_create", create))),
        (&[&in_session[..], &[DETOUR]].concat()[..], of_id(&ping)),
        (&in_session[..], of_id(&ping)),
        (&alone_headers[..], of_id(&alone_call)),
        (&[&alone_headers[..], &[DETOUR]].concat()[..], of_id(&alone_call)),
    ] {
        let (status, answer) = server.post(headers, &body).await;
        assert_eq!(status, 200, "{body}: {answer}");
        let answered = answer.contains(&format!(r#""id":{id},"result""#));
        if body.contains("tools/list") {
            assert!(
                answer.contains(r#""_meta":{"anthropic/maxResultSizeChars":65536}"#),
                "{answer}"
            );
        }
        assert!(answered && !answer.contains("isError\":true"), "{body}: {answer}");
        // A resumed reply has the same id.
        let mut events = answer.lines().filter_map(|line| line.strip_prefix("id: "));
        let Some(event) = events.find(|event| event.contains('/')) else { continue };
        let headers = [&in_session[..], &[("Last-Event-ID", event)]].concat();
        let (_, again) = server.send("GET", &headers, "").await;
        assert!(again.contains(&format!(r#""id":{id},"result""#)), "{body}: {again}");
    }
    // An error in the message is answered with the id as well.
    let faulty = of_id(&json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/zork" }));
    let (_, answer) = server.post(&in_session, faulty).await;
    assert!(answer.contains(&format!(r#""id":{id},"error""#)), "{answer}");
}

impl Server {
    /// Like [`post`](Self::post), with one header replaced.
    async fn post_as(
        &self,
        header: (&str, &str),
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> (u16, String) {
        self.post(&[headers, &[header]].concat(), body).await
    }

    async fn leave(&self, session: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!(
            "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nMcp-Session-Id: {session}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}
