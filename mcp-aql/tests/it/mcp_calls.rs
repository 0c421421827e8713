//! Tests of calls through MCP: results, progress, cancellation and sessions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::support::adapter::{Signals, builder, builder_with};
use crate::support::reached;
use mcp_aql::prelude::JsonSchema;
use mcp_aql::table::{Call, ExampleSpec, OperationEntry, OperationSpec};
use mcp_aql::table::{ParameterEntry, ParameterSpec, ReturnsSpec};
use mcp_aql::testing::Client;
use mcp_aql::{Adapter, EndpointMode, Operations, SemanticCategory, SizeLimits};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

fn adapter() -> Adapter {
    builder().without_config().build().unwrap()
}

fn reply(answer: &Value) -> Value {
    serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_result_is_one_text_item() {
    // REQ-MCP-09, REQ-RSP-01
    let client = Client::connect(&adapter()).await.unwrap();
    let arguments = json!({ "operation": "create_note", "params": { "title": "Milk" } });
    let answer = client.call_raw("mcp_aql_create", arguments).await.unwrap();
    assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1);
    assert_eq!(answer["result"]["content"][0]["type"], "text");
    assert_eq!(answer["result"].get("structuredContent"), None);
    assert_eq!(reply(&answer)["data"]["note"]["title"], "Milk");
}

#[tokio::test]
async fn is_error_is_set_for_errors_that_a_client_cannot_correct() {
    // REQ-MCP-10, REQ-MCP-11, choice C-11
    let client = Client::connect(&adapter()).await.unwrap();
    for (tool, operation, params, code, is_error) in [
        ("mcp_aql_read", "list_notes", json!({}), None, false),
        ("mcp_aql_read", "get_note", json!({ "note_id": 9 }), Some("NOT_FOUND_RESOURCE"), false),
        ("mcp_aql_read", "get_nothing", json!({}), Some("NOT_FOUND_OPERATION"), false),
        ("mcp_aql_read", "get_note", json!({}), Some("VALIDATION_MISSING_PARAM"), false),
        ("mcp_aql_read", "get_note", json!({ "x": 1 }), Some("VALIDATION_MISSING_PARAM"), false),
        (
            "mcp_aql_read",
            "get_note",
            json!({ "note_id": "x" }),
            Some("VALIDATION_INVALID_TYPE"),
            false,
        ),
        ("mcp_aql_create", "list_notes", json!({}), Some("VALIDATION_ENDPOINT_MISMATCH"), false),
        ("mcp_aql_execute", "execute_panic", json!({}), Some("INTERNAL_ERROR"), true),
    ] {
        let arguments = json!({ "operation": operation, "params": params });
        let answer = client.call_raw(tool, arguments).await.unwrap();
        assert_eq!(answer["result"]["isError"], is_error, "{operation}: {answer}");
        let reply = reply(&answer);
        assert_eq!(reply["success"], code.is_none(), "{operation}: {answer}");
        assert_eq!(reply["error"]["code"].as_str(), code, "{operation}");
    }
}

#[tokio::test]
async fn the_wrong_tool_names_the_right_one() {
    // REQ-EPT-03, REQ-EPT-04, REQ-EPT-07, REQ-EPT-15
    let client =
        Client::connect(&builder().mode(EndpointMode::All).without_config().build().unwrap())
            .await
            .unwrap();
    let result = client.call("mcp_aql_read", "create_note", json!({ "title": "a" })).await.unwrap();
    let error = result.error().unwrap();
    assert_eq!(error.code, "VALIDATION_ENDPOINT_MISMATCH");
    assert!(error.message.contains("mcp_aql_create"), "{}", error.message);
    assert_eq!(error.details["expected_endpoint"], "create");
    assert_eq!(error.details["actual_endpoint"], "read");
    let result = client.call("mcp_aql", "create_note", json!({ "title": "a" })).await.unwrap();
    assert!(result.is_success(), "the unified tool takes everything");
}

#[tokio::test]
async fn protocol_faults_are_json_rpc_errors() {
    // REQ-MCP-12, choice C-12
    let client = Client::connect(&adapter()).await.unwrap();
    for (method, params, code) in [
        ("tools/call", json!({ "name": "mcp_aql_nothing", "arguments": {} }), -32602),
        ("tools/call", json!({ "name": "mcp_aql_read", "arguments": "text" }), -32602),
        ("tools/call", json!({ "name": "mcp_aql_read", "arguments": [] }), -32602),
        ("tools/call", json!({}), -32602),
        ("prompts/list", json!({}), -32601),
        ("resources/list", json!({}), -32601),
        ("resources/templates/list", json!({}), -32601),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "a" }, "argument": { "name": "a", "value": "b" } }),
            -32601,
        ),
        ("no/such/method", json!({}), -32601),
    ] {
        let answer = client.request(method, params.clone()).await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let answer = client.call_raw("mcp_aql_nothing", json!({})).await.unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("mcp_aql_read"), "{answer}");
    // Missing arguments are errors of MCP-AQL, and not of JSON-RPC.
    let answer = client.call_raw("mcp_aql_read", json!({})).await.unwrap();
    assert_eq!(reply(&answer)["error"]["code"], "VALIDATION_MISSING_PARAM");
    let answer = client.request("tools/call", json!({ "name": "mcp_aql_read" })).await.unwrap();
    assert_eq!(reply(&answer)["error"]["code"], "VALIDATION_MISSING_PARAM");
}

#[tokio::test]
async fn structured_content_is_a_switch() {
    // REQ-MCP-09
    let adapter = builder().structured_content(true).without_config().build().unwrap();
    let client = Client::connect(&adapter).await.unwrap();
    let arguments = json!({ "operation": "list_notes" });
    let answer = client.call_raw("mcp_aql_read", arguments).await.unwrap();
    assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1);
    assert_eq!(answer["result"]["structuredContent"], reply(&answer));
}

/// A type of another crate.
#[derive(serde::Serialize, JsonSchema)]
struct Pages {
    /// A page.
    #[schemars(with = "Value")]
    page: Box<RawValue>,
}

/// An operation whose example and reply are formatted JSON.
struct Report;

impl Operations for Report {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
        OperationSpec::new("get_report", SemanticCategory::Read, "Show the report.")
            .returns(ReturnsSpec::of::<Pages, _>())
            .examples(&[ExampleSpec { description: "", params: "{\r\n}" }]),
        |_, call: Call| {
            Box::pin(async move {
                let page = "{\n  \"a\":\r\n  \"b\\nc\"\n}".to_owned();
                call.reply(Pages { page: RawValue::from_string(page).unwrap() })
            })
        },
    )];
}

#[tokio::test]
async fn json_of_several_lines_is_one_message() {
    // REQ-MCP-09
    let adapter = builder().operations(Report).structured_content(true).without_config();
    let client = Client::connect(&adapter.build().unwrap()).await.unwrap();
    let details = json!({ "query": "operations", "name": "get_report" });
    for (operation, params) in [("get_report", json!({})), ("introspect", details)] {
        let arguments = json!({ "operation": operation, "params": params });
        let answer = client.call_raw("mcp_aql_read", arguments);
        let answer = tokio::time::timeout(std::time::Duration::from_secs(20), answer).await;
        let answer = answer.unwrap_or_else(|_| panic!("{operation} gets no answer")).unwrap();
        assert_eq!(answer["result"]["structuredContent"], reply(&answer), "{operation}");
        assert_eq!(reply(&answer)["success"], true, "{operation}");
    }
}

#[tokio::test]
async fn a_batch_goes_through_the_tool() {
    // REQ-BAT-01, REQ-EPT-15, choice C-40
    let client = Client::connect(&adapter()).await.unwrap();
    let items = json!({ "operations": [
        { "operation": "list_notes" }, { "operation": "create_note", "params": { "title": "a" } },
    ] });
    let answer = client.call_raw("mcp_aql_read", items).await.unwrap();
    let reply = reply(&answer);
    assert_eq!(reply["summary"], json!({ "total": 2, "succeeded": 1, "failed": 1 }));
    let second = &reply["results"][1]["result"];
    assert_eq!(second["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
}

#[tokio::test]
async fn a_panic_is_answered_and_the_session_continues() {
    // REQ-RQ-08, REQ-MCP-10, REQ-SES-01
    let client = Client::connect(&adapter()).await.unwrap();
    let who = |result: mcp_aql::OperationResult| result.data()["caller"]["session"].clone();
    let before = who(client.call("mcp_aql_read", "show_caller", json!({})).await.unwrap());
    let result = client.call("mcp_aql_execute", "execute_panic", json!({})).await.unwrap();
    assert_eq!(result.code(), Some("INTERNAL_ERROR"));
    assert!(!result.error().unwrap().message.contains("secret"), "{result:?}");
    let after = who(client.call("mcp_aql_read", "show_caller", json!({})).await.unwrap());
    assert!(before.is_string(), "{before}");
    assert_eq!(before, after);
}

/// Returns the progress notifications with this token.
fn progress_of(client: &Client, token: &Value) -> Vec<Value> {
    let notifications = client.take_notifications().into_iter();
    notifications
        .filter(|message| message["method"] == "notifications/progress")
        .map(|mut message| message["params"].take())
        .filter(|params| params["progressToken"] == *token)
        .collect()
}

fn assert_grows(reports: &[Value], total: f64) {
    let done: Vec<_> = reports.iter().map(|one| one["progress"].as_f64().unwrap()).collect();
    assert!(done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    assert_eq!(done.last(), Some(&total), "the last report comes before the result");
    for report in reports {
        assert_eq!(report["total"].as_f64(), Some(total));
        assert_eq!(report["message"], "exporting");
    }
}

#[tokio::test]
async fn progress_is_sent_for_progress_tokens() {
    // REQ-MCP-13, REQ-MCP-14, REQ-MCP-16, choice C-63
    let client = Client::connect(&adapter()).await.unwrap();
    let call = |meta: Value, inner: Value| {
        let mut arguments = json!({ "operation": "execute_export", "params": { "steps": 9 } });
        if !inner.is_null() {
            arguments["_meta"] = inner;
        }
        json!({ "name": "mcp_aql_execute", "arguments": arguments, "_meta": meta })
    };
    for (shows, meta, inner, token) in [
        ("in the request", json!({ "progressToken": "a" }), Value::Null, json!("a")),
        ("in the arguments", json!({}), json!({ "progressToken": 7 }), json!(7)),
        ("in both", json!({ "progressToken": "b" }), json!({ "progressToken": "c" }), json!("b")),
    ] {
        let answer = client.request("tools/call", call(meta, inner)).await.unwrap();
        assert_eq!(reply(&answer)["data"], 9, "{shows}: {answer}");
        assert_grows(&progress_of(&client, &token), 9.0);
    }
    let answer = client.request("tools/call", call(json!({}), Value::Null)).await.unwrap();
    assert_eq!(reply(&answer)["success"], true);
    assert_eq!(client.take_notifications(), Vec::<Value>::new(), "nobody asked");
}

#[tokio::test]
async fn a_cancelled_request_cancels_its_operation() {
    // MCP: notifications/cancelled
    let signals = Signals::default();
    let adapter = builder_with(&signals).without_config().build().unwrap();
    let client = Client::connect(&adapter).await.unwrap();
    let params = json!({ "name": "mcp_aql_execute", "arguments": { "operation": "execute_wait" } });
    let (id, _answer) = client.start_request("tools/call", params).await.unwrap();
    reached(&signals.started, 1).await;
    client.notify("notifications/cancelled", json!({ "requestId": id })).await.unwrap();
    reached(&signals.cancelled, 1).await;
    assert!(client.call("mcp_aql_read", "list_notes", json!({})).await.unwrap().is_success());
}

#[tokio::test]
async fn sessions_are_apart_and_have_an_id() {
    // REQ-SES-01, REQ-SES-06
    let adapter = adapter();
    let (one, two) = tokio::join!(Client::connect(&adapter), Client::connect(&adapter));
    let (one, two) = (one.unwrap(), two.unwrap());
    let hold = |client: Client| async move {
        let result = client.call("mcp_aql_execute", "execute_hold", json!({})).await.unwrap();
        (result.data().clone(), client)
    };
    let (count, one) = hold(one).await;
    assert_eq!(count, 1);
    let (count, one) = hold(one).await;
    assert_eq!(count, 2);
    let (count, two) = hold(two).await;
    assert_eq!(count, 1, "the second client has state of its own");
    let mut ids = Vec::new();
    for client in [&one, &two] {
        let params = json!({ "query": "operations" });
        let listed = client.call("mcp_aql_read", "introspect", params).await.unwrap();
        let id = listed.data()["_protocol"]["session_id"].clone();
        let failed =
            client.call("mcp_aql_read", "get_note", json!({ "note_id": 1 })).await.unwrap();
        assert_eq!(failed.error().unwrap().details["session_id"], id);
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn client_info_is_only_a_label() {
    // REQ-SES-05
    let client = Client::connect(&adapter()).await.unwrap();
    let mut sessions = Vec::new();
    for (meta, inner, label) in [
        (json!({ "requestId": "r-1" }), json!({}), json!("r-1")),
        (json!({}), json!({ "_meta": { "requestId": 7 } }), json!("7")),
        (json!({}), json!({ "_request_id": "a\u{1b}b" }), json!("ab")),
        (json!({ "session_id": "s-forged" }), json!({ "_session_id": "x" }), Value::Null),
    ] {
        let mut arguments = json!({ "operation": "show_caller" });
        arguments.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
        let params = json!({ "name": "mcp_aql_read", "arguments": arguments, "_meta": meta });
        let answer = client.request("tools/call", params).await.unwrap();
        let caller = reply(&answer)["data"]["caller"].clone();
        assert_eq!(caller["label"], label);
        assert!(caller["session"].as_str().unwrap().starts_with("s-"), "{caller}");
        sessions.push(caller["session"].clone());
    }
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
}

#[tokio::test]
async fn a_disconnected_client_ends_its_session() {
    // REQ-SES-01, REQ-SES-02
    let signals = Signals::default();
    let adapter = builder_with(&signals).without_config().build().unwrap();
    for (round, cleanly) in [(1, true), (2, false)] {
        let client = Client::connect(&adapter).await.unwrap();
        client.call("mcp_aql_execute", "execute_hold", json!({})).await.unwrap();
        let params =
            json!({ "name": "mcp_aql_execute", "arguments": { "operation": "execute_wait" } });
        let (_, _answer) = client.start_request("tools/call", params).await.unwrap();
        reached(&signals.started, round).await;
        if cleanly {
            client.close().await.unwrap();
        } else {
            drop(client);
        }
        reached(&signals.cancelled, round).await;
        reached(&signals.sessions_ended, round).await;
    }
}

/// A READ whose result can have any length.
struct Repeat;

impl Operations for Repeat {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
        OperationSpec::new("repeat_quote", SemanticCategory::Read, "Repeat a character.")
            .parameters(&[ParameterEntry::One(ParameterSpec::required::<usize>(
                "count",
                "How often.",
            ))])
            .returns(ReturnsSpec::of::<String, _>()),
        |_, mut call: Call| {
            Box::pin(async move {
                let count = call.param::<usize>()?;
                call.reply("x".repeat(count))
            })
        },
    )];
}

#[tokio::test]
async fn replies_of_all_lengths_have_the_same_limit_over_a_stream() {
    // REQ-ENC-09
    let limits = SizeLimits { max_response_size: 1 << 20, ..SizeLimits::default() };
    let adapter = builder().operations(Repeat).limits(limits).without_config().build().unwrap();
    let client = Client::connect(&adapter).await.unwrap();
    let mut fitting = 0;
    for count in (1 << 20) - 80..(1 << 20) {
        let params = json!({ "count": count });
        let own = adapter.call("repeat_quote", params.clone()).await;
        let sent = client.call("mcp_aql_read", "repeat_quote", params).await.unwrap();
        assert_eq!(sent.code(), own.code(), "{count}");
        fitting += usize::from(own.is_success());
    }
    assert!((1..80).contains(&fitting), "{fitting}");
}

/// A READ that keeps its context after its end.
struct Keep(Arc<watch::Sender<u32>>);

impl Operations for Keep {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
        OperationSpec::new("keep_context", SemanticCategory::Read, "Watch the caller from a task.")
            .returns(ReturnsSpec::of::<bool, _>()),
        |keep, call: Call| {
            Box::pin(async move {
                let (context, cancelled) = (call.context(), Arc::clone(&keep.0));
                tokio::spawn(async move {
                    context.cancelled().await;
                    cancelled.send_modify(|count| *count += 1);
                });
                call.reply(true)
            })
        },
    )];
}

#[tokio::test]
async fn a_context_that_outlives_its_call_is_cancelled_with_its_session() {
    // REQ-SES-02
    let (signals, kept) = (Signals::default(), Arc::new(watch::Sender::new(0)));
    let keep = Keep(Arc::clone(&kept));
    let adapter = builder_with(&signals).operations(keep).without_config().build().unwrap();
    let client = Client::connect(&adapter).await.unwrap();
    for _ in 0..3 {
        client.call("mcp_aql_read", "keep_context", json!({})).await.unwrap();
    }
    // Another call is canceled.
    let wait = json!({ "name": "mcp_aql_execute", "arguments": { "operation": "execute_wait" } });
    let (id, _answer) = client.start_request("tools/call", wait).await.unwrap();
    reached(&signals.started, 1).await;
    client.notify("notifications/cancelled", json!({ "requestId": id })).await.unwrap();
    reached(&signals.cancelled, 1).await;
    assert!(client.call("mcp_aql_read", "list_notes", json!({})).await.unwrap().is_success());
    assert_eq!(*kept.borrow(), 0);
    client.close().await.unwrap();
    reached(&kept, 3).await;
}

/// A READ that blocks its thread, and one that waits.
struct Block(Arc<BlockState>);

#[derive(Default)]
struct BlockState {
    /// If `true`, the next call blocks until the other one was answered.
    blocks: AtomicBool,
    answered: (Mutex<bool>, Condvar),
    blocking: Notify,
    released: Notify,
}

impl Operations for Block {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[
        OperationEntry::new(
            OperationSpec::new("block_thread", SemanticCategory::Read, "Block a thread.")
                .returns(ReturnsSpec::of::<bool, _>()),
            |Block(block), call: Call| {
                Box::pin(async move {
                    let mut in_time = true;
                    if block.blocks.load(Ordering::Acquire) {
                        block.blocking.notify_one();
                        let (answered, changed) = &block.answered;
                        let limit = Duration::from_secs(20);
                        let waited =
                            changed.wait_timeout_while(answered.lock().unwrap(), limit, |known| {
                                !*known
                            });
                        in_time = !waited.unwrap().1.timed_out();
                    }
                    call.reply(in_time)
                })
            },
        ),
        OperationEntry::new(
            OperationSpec::new("wait_for_it", SemanticCategory::Read, "Wait for the other one.")
                .returns(ReturnsSpec::of::<bool, _>()),
            |Block(block), call: Call| {
                Box::pin(async move {
                    block.released.notified().await;
                    call.reply(true)
                })
            },
        ),
    ];
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_blocks_does_not_hold_up_the_answers_of_running_calls() {
    let block = Arc::new(BlockState::default());
    let adapter = builder_with(&Signals::default()).operations(Block(Arc::clone(&block)));
    let client = Client::connect(&adapter.without_config().build().unwrap()).await.unwrap();
    // Short calls at first make the server run this operation in the task that reads messages.
    for _ in 0..5 {
        client.call("mcp_aql_read", "block_thread", json!({})).await.unwrap();
    }
    block.blocks.store(true, Ordering::Release);
    let call =
        |operation| json!({ "name": "mcp_aql_read", "arguments": { "operation": operation } });
    let (_, waiting) = client.start_request("tools/call", call("wait_for_it")).await.unwrap();
    let (_, blocking) = client.start_request("tools/call", call("block_thread")).await.unwrap();
    block.blocking.notified().await;
    block.released.notify_one();
    assert_eq!(reply(&waiting.await.unwrap())["data"], true);
    *block.answered.0.lock().unwrap() = true;
    block.answered.1.notify_all();
    assert_eq!(reply(&blocking.await.unwrap())["data"], true, "the answer came too late");
}

#[tokio::test]
async fn the_newest_mcp_has_a_session_without_a_handshake() {
    // REQ-SES-01
    let client = Client::connect_without_handshake(&adapter());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut counts = Vec::new();
    for _ in 0..2 {
        let arguments = json!({ "operation": "execute_hold" });
        let params = json!({ "name": "mcp_aql_execute", "arguments": arguments, "_meta": meta });
        let answer = client.request("tools/call", params).await.unwrap();
        counts.push(reply(&answer)["data"].clone());
    }
    assert_eq!(counts, [1, 2]);
}
