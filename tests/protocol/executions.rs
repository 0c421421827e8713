//! Tests background executions: their states and transitions, their visibility, and their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_aql::prelude::*;
use mcp_aql::store::MemoryState;
use mcp_aql::table::{
    Call, DangerSpec, LifecycleSpec, OperationEntry, OperationSpec, ParameterEntry, ParameterSpec,
    ReturnsSpec,
};
use mcp_aql::testing::Client;
use mcp_aql::testing::TimeSource;
use mcp_aql::{
    AdapterBuilder, BoxFuture, Concurrency, DangerLevel, ExecutionOptions, OperationResult,
    Operations, Policy, SemanticCategory,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{AuditLines, entry_names, names};

const SECOND: Duration = Duration::from_secs(1);

/// The result of an export.
#[derive(serde::Serialize, JsonSchema)]
struct Export {
    rooms: u32,
}

/// Operations that take some time.
#[derive(Clone, Default)]
struct Works {
    tries: Arc<AtomicU32>,
}

type Run = for<'a> fn(&'a Works, Call) -> BoxFuture<'a, mcp_aql::table::Outcome>;

const fn execute(
    name: &'static str,
    lifecycle: LifecycleSpec,
    parameters: &'static [ParameterEntry],
    call: Run,
) -> OperationEntry<Works> {
    OperationEntry::new(
        OperationSpec::new(name, SemanticCategory::Execute, "Do something that takes its time.")
            .parameters(parameters)
            .returns(ReturnsSpec::of::<Result<Export, OperationError>, _>())
            .lifecycle(lifecycle),
        call,
    )
}

impl Operations for Works {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[
        execute(
            "execute_export",
            LifecycleSpec::new(true, true, true),
            &[ParameterEntry::One(ParameterSpec::required::<u32>("rooms", "How many."))],
            |_, mut call| {
                Box::pin(async move {
                    let rooms = call.param::<u32>()?;
                    let execution = call.execution()?;
                    for room in 1..=rooms {
                        let step = async {
                            sleep(SECOND).await;
                            execution
                                .progress(room.into(), rooms.into(), format!("room {room}"))
                                .await;
                        };
                        tokio::select! {
                            () = step => {}
                            () = execution.cancelled() => break,
                        }
                    }
                    call.reply(Export { rooms })
                })
            },
        ),
        execute("execute_flaky", LifecycleSpec::new(false, true, false), &[], |works, call| {
            Box::pin(async move {
                works.tries.fetch_add(1, Ordering::SeqCst);
                match call.execution()?.attempt() {
                    1 => Err(OperationError::internal("the disk is full").with_detail("step", 3)),
                    rooms => call.reply(Export { rooms }),
                }
            })
        }),
        execute(
            "execute_secret",
            LifecycleSpec::new(false, true, false),
            &[ParameterEntry::One(
                ParameterSpec::required::<String>("token", "A secret.").sensitive(),
            )],
            |_, mut call| {
                Box::pin(async move {
                    let token = call.param::<String>()?;
                    match call.execution()?.attempt() {
                        1 => Err(OperationError::not_found("room", "r-1")),
                        _ => call.reply(Export { rooms: u32::try_from(token.len()).unwrap() }),
                    }
                })
            },
        ),
        execute("execute_stubborn", LifecycleSpec::new(true, false, false), &[], |_, call| {
            Box::pin(async move {
                call.execution()?.status("never looks up").await;
                std::future::pending().await
            })
        }),
        execute("execute_deaf", LifecycleSpec::new(true, false, false), &[], |_, call| {
            Box::pin(async move {
                sleep(3 * SECOND).await;
                call.reply(Export { rooms: 1 })
            })
        }),
        execute("execute_panic", LifecycleSpec::new(false, false, false), &[], |_, _| {
            Box::pin(async { panic!("at /src/secret.rs") })
        }),
    ];
}

fn builder(works: &Works) -> AdapterBuilder {
    let epoch = "2031-05-06T07:00:00Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    let start = Instant::now();
    let now = move || epoch + chrono::TimeDelta::from_std(start.elapsed()).unwrap();
    Adapter::builder("works")
        .operations(works.clone())
        .time_source(TimeSource::new(now))
        .without_config()
}

fn adapter() -> Adapter {
    builder(&Works::default()).build().unwrap()
}

#[track_caller]
fn data(result: OperationResult) -> Value {
    assert!(result.is_success(), "{result:?}");
    result.data().clone()
}

async fn begin(adapter: &Adapter, operation: &str, params: Value) -> String {
    let state = data(adapter.call(operation, params).await);
    state["execution_id"].as_str().unwrap().to_owned()
}

async fn ask(adapter: &Adapter, operation: &str, id: &str) -> OperationResult {
    adapter.call(operation, json!({ "execution_id": id })).await
}

async fn state(adapter: &Adapter, id: &str) -> Value {
    data(ask(adapter, "get_execution", id).await)
}

#[tokio::test(start_paused = true)]
async fn a_call_returns_at_once_and_its_end_can_be_awaited() {
    // REQ-LIF-01, REQ-LIF-04, REQ-LIF-06
    let adapter = adapter();
    let begun = Instant::now();
    let first = data(adapter.call("execute_export", json!({ "rooms": 4 })).await);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(names(&first), ["attempt", "execution_id", "operation", "started_at", "status"]);
    assert_eq!((&first["status"], &first["attempt"]), (&json!("running"), &json!(1)));
    assert_eq!(first["started_at"], "2031-05-06T07:00:00.000Z");
    let id = first["execution_id"].as_str().unwrap();
    sleep(SECOND * 5 / 2).await;
    let half = state(&adapter, id).await;
    assert_eq!(half["progress"], json!({ "current": 2, "total": 4, "message": "room 2" }));
    let params = json!({ "execution_id": id, "wait_seconds": 60 });
    let last = data(adapter.call("get_execution", params).await);
    assert_eq!(begun.elapsed(), 4 * SECOND, "the wait ends with the execution");
    assert_eq!(
        (&last["status"], &last["result"]),
        (&json!("completed"), &json!({ "export": { "rooms": 4 } }))
    );
    assert_eq!(last["finished_at"], "2031-05-06T07:00:04.000Z");
    let params = json!({ "execution_id": id, "wait_seconds": 61 });
    assert_eq!(
        adapter.call("get_execution", params).await.code(),
        Some("VALIDATION_INVALID_VALUE")
    );
    assert_eq!(ask(&adapter, "get_execution", "exec_0").await.code(), Some("NOT_FOUND_RESOURCE"));
    // Invalid arguments are rejected before an execution starts.
    let refused = adapter.call("execute_export", json!({})).await;
    assert_eq!(refused.code(), Some("VALIDATION_MISSING_PARAM"));
}

async fn call_with_progress(client: &Client, operation: &str, params: Value) -> Value {
    let asked = json!({
        "name": "mcp_aql_execute",
        "arguments": { "operation": operation, "params": params },
        "_meta": { "progressToken": "p" },
    });
    let answer = client.request("tools/call", asked).await.unwrap();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    serde_json::from_str::<Value>(text).unwrap()["data"].clone()
}

#[tokio::test(start_paused = true)]
async fn calls_with_a_progress_token_wait_for_the_end() {
    // REQ-MCP-13 to REQ-MCP-15, REQ-LIF-06
    let adapter = adapter();
    let client = Client::connect(&adapter).await.unwrap();
    let last = call_with_progress(&client, "execute_export", json!({ "rooms": 4 })).await;
    assert_eq!(
        (&last["status"], &last["result"]["export"]["rooms"]),
        (&json!("completed"), &json!(4))
    );
    let told: Vec<_> = client
        .take_notifications()
        .iter()
        .map(|it| {
            assert_eq!(
                (&it["params"]["progressToken"], &it["params"]["total"]),
                (&json!("p"), &json!(100.0))
            );
            let message = it["params"]["message"].as_str().unwrap().to_owned();
            (it["params"]["progress"].as_f64().unwrap(), message)
        })
        .collect();
    let told: Vec<_> = told.iter().map(|(done, message)| (*done, message.as_str())).collect();
    assert_eq!(
        told,
        [
            (10.0, "running"),
            (30.0, "room 1"),
            (50.0, "room 2"),
            (70.0, "room 3"),
            (100.0, "room 4")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn pending_calls_time_out() {
    // REQ-MCP-13, REQ-LIF-04
    let options = ExecutionOptions::new().wait(2 * SECOND);
    let adapter = builder(&Works::default()).executions(options).build().unwrap();
    let client = Client::connect(&adapter).await.unwrap();
    let begun = Instant::now();
    let half = call_with_progress(&client, "execute_export", json!({ "rooms": 9 })).await;
    assert_eq!((begun.elapsed(), &half["status"]), (2 * SECOND, &json!("running")));
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_cancels_its_operation() {
    // REQ-LIF-02, REQ-MCP-13
    let adapter = adapter();
    let client = Client::connect(&adapter).await.unwrap();
    let asked = json!({
        "name": "mcp_aql_execute",
        "arguments": { "operation": "execute_export", "params": { "rooms": 9 } },
        "_meta": { "progressToken": 7 },
    });
    let (request, _answer) = client.start_request("tools/call", asked).await.unwrap();
    sleep(2 * SECOND).await;
    client.notify("notifications/cancelled", json!({ "requestId": request })).await.unwrap();
    sleep(SECOND).await;
    let listed = client.call("mcp_aql_read", "list_executions", json!({})).await.unwrap();
    assert_eq!(listed.data()["items"][0]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_execution_ends_according_to_its_function() {
    // REQ-LIF-02, REQ-LIF-03, REQ-LIF-08
    let adapter = adapter();
    for (operation, params, seconds, status) in [
        ("execute_export", json!({ "rooms": 9 }), 0, "cancelled"),
        ("execute_stubborn", json!({}), 5, "cancelled"),
        // This operation never checks for cancellation, so it completes.
        ("execute_deaf", json!({}), 2, "completed"),
    ] {
        let id = begin(&adapter, operation, params).await;
        sleep(SECOND).await;
        let begun = Instant::now();
        let ended = data(ask(&adapter, "cancel_execution", &id).await);
        assert_eq!(ended["status"], status, "{operation}");
        assert_eq!(begun.elapsed(), seconds * SECOND, "{operation}");
        assert_eq!(ended.get("result").is_some(), status == "completed", "{operation}");
        let again = ask(&adapter, "cancel_execution", &id).await;
        match status {
            // A second cancellation has no further effect.
            "cancelled" => assert_eq!(data(again), ended),
            _ => assert_eq!(again.code(), Some("VALIDATION_INVALID_VALUE")),
        }
    }
    let id = begin(&adapter, "execute_stubborn", json!({})).await;
    sleep(SECOND).await;
    let ended = data(ask(&adapter, "cancel_execution", &id).await);
    assert_eq!(ended["progress"], json!({ "message": "never looks up" }), "the last is kept");
}

#[tokio::test(start_paused = true)]
async fn rejects_invalid_configurations() {
    // REQ-LIF-02, REQ-LIF-03, choice C-65
    let adapter = adapter();
    let flaky = begin(&adapter, "execute_flaky", json!({})).await;
    let unsupported = ask(&adapter, "cancel_execution", &flaky).await;
    assert_eq!(unsupported.code(), Some("PERMISSION_DENIED"), "{unsupported:?}");
    sleep(SECOND).await;
    let failed = ask(&adapter, "cancel_execution", &flaky).await;
    assert_eq!(failed.code(), Some("VALIDATION_INVALID_VALUE"));
    assert_eq!(failed.error().unwrap().details["status"], "failed");
    let running = begin(&adapter, "execute_export", json!({ "rooms": 1 })).await;
    assert_eq!(
        ask(&adapter, "retry_execution", &running).await.code(),
        Some("VALIDATION_INVALID_VALUE")
    );
    let panicked = begin(&adapter, "execute_panic", json!({})).await;
    sleep(2 * SECOND).await;
    assert_eq!(ask(&adapter, "retry_execution", &panicked).await.code(), Some("PERMISSION_DENIED"));
    assert_eq!(
        ask(&adapter, "retry_execution", &running).await.code(),
        Some("VALIDATION_INVALID_VALUE")
    );
    for operation in ["cancel_execution", "retry_execution"] {
        assert_eq!(ask(&adapter, operation, "exec_0").await.code(), Some("NOT_FOUND_RESOURCE"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_execution_has_an_ordinary_error_and_can_be_retried() {
    // REQ-LIF-02, REQ-LIF-05
    let works = Works::default();
    let adapter = builder(&works).build().unwrap();
    let id = begin(&adapter, "execute_flaky", json!({})).await;
    sleep(SECOND).await;
    let failed = state(&adapter, &id).await;
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("INTERNAL_ERROR"))
    );
    assert_eq!(names(&failed["error"]["details"]), ["correlation_id", "operation_ran", "step"]);
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("so read the state before you try again"), "{message}");
    assert!(!failed.to_string().contains("disk"), "{failed}");
    let (one, two) =
        tokio::join!(ask(&adapter, "retry_execution", &id), ask(&adapter, "retry_execution", &id));
    let codes: Vec<_> = [&one, &two].into_iter().filter_map(OperationResult::code).collect();
    assert_eq!(codes, ["VALIDATION_INVALID_VALUE"], "one of them has run it again");
    sleep(SECOND).await;
    let done = state(&adapter, &id).await;
    assert_eq!((&done["status"], &done["attempt"]), (&json!("completed"), &json!(2)));
    assert_eq!(done["result"]["export"]["rooms"], 2);
    assert!(done.get("error").is_none(), "{done}");
    assert_eq!(works.tries.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_time_limit_are_failures() {
    // REQ-LIF-05
    let adapter = builder(&Works::default()).time_limit(2 * SECOND).build().unwrap();
    for (operation, params) in
        [("execute_panic", json!({})), ("execute_export", json!({ "rooms": 9 }))]
    {
        let id = begin(&adapter, operation, params).await;
        sleep(3 * SECOND).await;
        let failed = state(&adapter, &id).await;
        assert_eq!(failed["error"]["code"], "INTERNAL_ERROR", "{operation}: {failed}");
        assert!(failed["error"]["details"]["correlation_id"].is_string());
        assert!(!failed.to_string().contains("secret.rs"));
    }
}

#[tokio::test(start_paused = true)]
async fn secrets_stay_in_the_process_that_received_them() {
    // REQ-LIF-02
    let store = Arc::new(MemoryState::default());
    let works = Works::default();
    let here = builder(&works).store(Arc::clone(&store)).build().unwrap();
    let there = builder(&works).store(Arc::clone(&store)).build().unwrap();
    let id = begin(&here, "execute_secret", json!({ "token": "open sesame" })).await;
    sleep(SECOND).await;
    let kept = mcp_aql::store::StateStore::get(&*store, "executions", &id).await.unwrap().unwrap();
    assert!(!kept.value.contains("sesame"), "{kept:?}");
    let refused = ask(&there, "retry_execution", &id).await;
    assert_eq!(refused.code(), Some("VALIDATION_INVALID_VALUE"));
    assert!(refused.error().unwrap().message.contains("secret"), "{refused:?}");
    data(ask(&here, "retry_execution", &id).await);
    sleep(SECOND).await;
    assert_eq!(state(&there, &id).await["result"]["export"]["rooms"], 11);
}

#[tokio::test(start_paused = true)]
async fn secrets_for_retries_stay_within_a_budget() {
    // REQ-LIF-02
    let options = ExecutionOptions::new().keep_bytes_per_caller(1 << 20);
    let adapter = builder(&Works::default()).executions(options).build().unwrap();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let token = "x".repeat(300_000);
        ids.push(begin(&adapter, "execute_secret", json!({ "token": token })).await);
        sleep(SECOND).await;
    }
    for (number, id) in ids.iter().enumerate() {
        let retry = ask(&adapter, "retry_execution", id).await;
        if number < 2 {
            assert_eq!(retry.code(), Some("VALIDATION_INVALID_VALUE"), "{number}");
            let message = &retry.error().unwrap().message;
            assert!(message.contains("parameters are no longer stored"), "{message}");
        } else {
            assert_eq!(data(retry)["attempt"], 2, "{number}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn executions_end_with_the_session_that_began_them() {
    // REQ-LIF-10, REQ-SES-02
    let adapter = adapter();
    let client = Client::connect(&adapter).await.unwrap();
    let other = Client::connect(&adapter).await.unwrap();
    let mut ids = Vec::new();
    for (client, operation) in
        [(&client, "execute_stubborn"), (&client, "execute_export"), (&other, "execute_export")]
    {
        let params = if operation == "execute_export" { json!({ "rooms": 60 }) } else { json!({}) };
        let begun = client.call("mcp_aql_execute", operation, params).await.unwrap();
        ids.push(begun.data()["execution_id"].as_str().unwrap().to_owned());
    }
    sleep(SECOND).await;
    client.close().await.unwrap();
    // The server has waited for these executions before it ended the session.
    for (id, status) in ids.iter().zip(["cancelled", "cancelled", "running"]) {
        assert_eq!(state(&adapter, id).await["status"], status);
    }
    // If a client disconnects without notice, the same happens, but no caller waits for it.
    drop(other);
    sleep(7 * SECOND).await;
    assert_eq!(state(&adapter, &ids[2]).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_serving_is_the_end_of_what_runs() {
    // REQ-LIF-10
    let adapter = adapter();
    let id = begin(&adapter, "execute_stubborn", json!({})).await;
    sleep(SECOND).await;
    adapter.end_sessions().await;
    assert_eq!(state(&adapter, &id).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_session_lists_its_own_executions_and_an_id_grants_access_to_one() {
    // REQ-LIF-04, REQ-SES-06
    let adapter = adapter();
    let (one, two) =
        (Client::connect(&adapter).await.unwrap(), Client::connect(&adapter).await.unwrap());
    let mut ids = Vec::new();
    for _ in 0..3 {
        let begun =
            one.call("mcp_aql_execute", "execute_export", json!({ "rooms": 1 })).await.unwrap();
        ids.insert(0, begun.data()["execution_id"].clone());
        sleep(SECOND / 10).await;
    }
    sleep(2 * SECOND).await;
    one.call("mcp_aql_execute", "execute_flaky", json!({})).await.unwrap();
    sleep(SECOND).await;
    let list = async |client: &Client, params: Value| {
        let listed = client.call("mcp_aql_read", "list_executions", params).await.unwrap();
        assert!(listed.is_success(), "{listed:?}");
        let ids: Vec<_> = listed.data()["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["execution_id"].clone())
            .collect();
        (ids, listed.data().clone())
    };
    assert_eq!(list(&two, json!({})).await.0, Vec::<Value>::new());
    assert_eq!(list(&one, json!({})).await.0.len(), 4);
    assert_eq!(list(&one, json!({ "status": "failed" })).await.0.len(), 1);
    assert_eq!(
        list(&one, json!({ "operation_name": "execute_export" })).await.0,
        ids,
        "the newest first"
    );
    let (first, page) = list(&one, json!({ "status": "completed", "first": 2 })).await;
    assert_eq!((&first[..], &page["pageInfo"]["hasNextPage"]), (&ids[..2], &json!(true)));
    assert!(page["items"][0].get("result").is_none(), "{page}");
    let after = page["pageInfo"]["endCursor"].clone();
    let (rest, page) =
        list(&one, json!({ "status": "completed", "first": 2, "after": after })).await;
    assert_eq!((&rest[..], &page["pageInfo"]["hasNextPage"]), (&ids[2..], &json!(false)));
    let known =
        two.call("mcp_aql_read", "get_execution", json!({ "execution_id": ids[0] })).await.unwrap();
    assert_eq!(known.data()["result"]["export"]["rooms"], 1);
    // All calls without a session share one list.
    let id = begin(&adapter, "execute_flaky", json!({})).await;
    let listed = data(adapter.call("list_executions", json!({})).await);
    assert_eq!(
        (listed["items"].as_array().unwrap().len(), &listed["items"][0]["execution_id"]),
        (1, &json!(id))
    );
}

#[tokio::test(start_paused = true)]
async fn executions_are_listed_page_by_page_in_both_directions() {
    // REQ-PAG-01, REQ-PAG-02, REQ-PAG-04, REQ-PAG-05, REQ-PAG-08, REQ-PAG-10
    let adapter = adapter();
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.insert(0, json!(begin(&adapter, "execute_export", json!({ "rooms": 1 })).await));
        sleep(2 * SECOND).await;
    }
    let list = async |params: Value| adapter.call("list_executions", params).await;
    // The error has the same details as that of a `CollectionQuery`.
    let negative = list(json!({ "first": -1 })).await;
    let negative = negative.error().expect("an error");
    assert_eq!(negative.message, "Parameter 'first' must be 0 or more");
    assert_eq!(negative.details["expected"], "must be 0 or more");
    assert_eq!(negative.details["operation"], "list_executions");
    let page = async |params: Value| {
        let data = data(list(params).await);
        let items = data["items"].as_array().unwrap();
        let ids: Vec<_> = items.iter().map(|item| item["execution_id"].clone()).collect();
        (ids, data["pageInfo"].clone())
    };
    let (mut forwards, mut backwards) = (Vec::new(), Vec::new());
    let mut cursor = Value::Null;
    loop {
        let (items, info) = page(json!({ "first": 3, "after": cursor })).await;
        forwards.extend(items);
        if info["hasNextPage"] == false {
            break;
        }
        cursor = info["endCursor"].clone();
    }
    cursor = Value::Null;
    loop {
        let (items, info) = page(json!({ "last": 3, "before": cursor })).await;
        backwards.splice(0..0, items);
        if info["hasPreviousPage"] == false {
            break;
        }
        cursor = info["startCursor"].clone();
    }
    assert_eq!((&forwards, &backwards), (&ids, &ids));
    // Every page size is accepted: 0 returns no rows, and more than 100 returns 100 rows with a warning.
    let (none, info) = page(json!({ "first": 0 })).await;
    assert_eq!((none.len(), &info["hasNextPage"]), (0, &json!(true)));
    for (params, warns) in [(json!({ "first": 100 }), false), (json!({ "last": 101 }), true)] {
        let reply = list(params.clone()).await;
        assert_eq!(reply.data()["items"].as_array().unwrap().len(), 7, "{params}");
        assert_eq!(!reply.warnings().is_empty(), warns, "{params}");
    }
    // A cursor is only valid for the same session and the same conditions.
    let own = page(json!({ "first": 1 })).await.1["endCursor"].clone();
    let filtered = page(json!({ "first": 1, "status": "completed" })).await.1["endCursor"].clone();
    for params in [
        json!({ "first": 1, "after": ids[0] }),
        json!({ "first": 1, "after": "x" }),
        json!({ "first": 1, "after": filtered }),
        json!({ "first": 1, "after": own, "status": "completed" }),
        json!({ "last": 1, "before": filtered, "operation_name": "execute_export" }),
    ] {
        let reply = list(params.clone()).await;
        assert_eq!(reply.code(), Some("VALIDATION_INVALID_VALUE"), "{params}");
    }
    let client = Client::connect(&adapter).await.unwrap();
    let params = json!({ "first": 1, "after": own });
    let reply = client.call("mcp_aql_read", "list_executions", params).await.unwrap();
    assert_eq!(reply.code(), Some("VALIDATION_INVALID_VALUE"));
    for params in [
        json!({ "first": 1, "last": 1 }),
        json!({ "after": own }),
        json!({ "before": own }),
        json!({ "first": 1, "before": own }),
        json!({ "last": 1, "after": own }),
    ] {
        let reply = list(params.clone()).await;
        assert_eq!(reply.code(), Some("VALIDATION_INVALID_TYPE"), "{params}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_execution_holds_its_place() {
    // REQ-LIF-01, REQ-LIF-02, REQ-CON-01
    let adapter = builder(&Works::default()).concurrency(Concurrency::Serialized).build().unwrap();
    let first = begin(&adapter, "execute_export", json!({ "rooms": 3 })).await;
    let second = begin(&adapter, "execute_export", json!({ "rooms": 3 })).await;
    let third = begin(&adapter, "execute_export", json!({ "rooms": 3 })).await;
    sleep(SECOND).await;
    // Operations on executions do not wait for a free slot.
    let waiting = state(&adapter, &second).await;
    assert_eq!(waiting["status"], "pending");
    assert!(waiting.get("started_at").is_none(), "{waiting}");
    let ended = data(ask(&adapter, "cancel_execution", &third).await);
    assert_eq!(ended["status"], "cancelled");
    assert!(ended.get("started_at").is_none(), "{ended}");
    sleep(3 * SECOND).await;
    assert_eq!(state(&adapter, &first).await["status"], "completed");
    assert_eq!(state(&adapter, &second).await["status"], "running");
    sleep(3 * SECOND).await;
    assert_eq!(state(&adapter, &second).await["finished_at"], "2031-05-06T07:00:06.000Z");
}

#[tokio::test(start_paused = true)]
async fn two_processes_share_executions() {
    // REQ-LIF-02, REQ-LIF-04
    let store = Arc::new(MemoryState::default());
    let works = Works::default();
    let here = builder(&works).store(Arc::clone(&store)).build().unwrap();
    let there = builder(&works).store(Arc::clone(&store)).build().unwrap();
    let id = begin(&here, "execute_export", json!({ "rooms": 60 })).await;
    sleep(5 * SECOND).await;
    let seen = state(&there, &id).await;
    assert_eq!((&seen["status"], &seen["progress"]["total"]), (&json!("running"), &json!(60)));
    assert_eq!(data(ask(&there, "cancel_execution", &id).await)["status"], "cancelled");
    let failed = begin(&here, "execute_flaky", json!({})).await;
    sleep(SECOND).await;
    data(ask(&there, "retry_execution", &failed).await);
    sleep(SECOND).await;
    assert_eq!(state(&here, &failed).await["status"], "completed");
    // An adapter with another name on the same store does not see them.
    let other =
        Adapter::builder("other").operations(works).store(store).without_config().build().unwrap();
    assert_eq!(ask(&other, "get_execution", &id).await.code(), Some("NOT_FOUND_RESOURCE"));
}

#[test]
fn executions_of_a_dead_process_have_failed() {
    // REQ-LIF-05, REQ-LIF-10
    let store = Arc::new(MemoryState::default());
    let clock = Arc::new(AtomicU32::new(0));
    let start = || {
        let clock = Arc::clone(&clock);
        let epoch = "2031-05-06T07:00:00Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap();
        let now = move || epoch + chrono::TimeDelta::seconds(clock.load(Ordering::SeqCst).into());
        builder(&Works::default())
            .store(Arc::clone(&store))
            .time_source(TimeSource::new(now))
            .build()
            .unwrap()
    };
    let adapter = start();
    // When its runtime is dropped, all tasks end, like in a crash.
    let id = crate::support::block_on(begin(&adapter, "execute_stubborn", json!({})));
    let again = start();
    let status = || crate::support::block_on(state(&again, &id));
    assert_eq!(status()["status"], "running", "it may still live");
    clock.store(11, Ordering::SeqCst);
    let failed = status();
    assert_eq!(
        (&failed["status"], &failed["error"]["details"]["reason"]),
        (&json!("failed"), &json!("interrupted"))
    );
    assert_eq!(failed["finished_at"], "2031-05-06T07:00:11.000Z");
    assert!(!mcp_aql::testing::leaks_internals(failed["error"]["message"].as_str().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn introspection_describes_the_states_of_executions() {
    // REQ-LIF-07, REQ-LIF-09, REQ-LIF-11, REQ-INT-10
    let adapter = adapter();
    let show = async |query: &str, name: &str| {
        data(adapter.call("introspect", json!({ "query": query, "name": name })).await)
    };
    let export = show("operations", "execute_export").await["operation"].clone();
    assert_eq!(
        export["lifecycle"],
        json!({
            "states": ["pending", "running", "completed", "failed", "cancelled"],
            "supports_cancel": true, "supports_retry": true, "progress_reporting": true,
        })
    );
    let description = export["description"].as_str().unwrap();
    for operation in ["get_execution", "cancel_execution", "retry_execution"] {
        assert!(description.contains(operation), "{description}");
    }
    assert_eq!(export["returns"]["name"], "ExecutionState");
    assert!(export["returns"]["description"].as_str().unwrap().contains("Export"), "{export}");
    let deaf = show("operations", "execute_deaf").await["operation"].clone();
    assert!(!deaf["description"].as_str().unwrap().contains("retry_execution"), "{deaf}");
    assert!(show("operations", "get_execution").await["operation"].get("lifecycle").is_none());
    let shown = show("types", "ExecutionState").await["type"].clone();
    let mut fields = entry_names(&shown["fields"]);
    fields.sort_unstable();
    assert_eq!(
        fields.join(" "),
        "attempt error execution_id finished_at operation progress result result_dropped started_at status warnings"
    );
    let required: Vec<_> =
        shown["fields"].as_array().unwrap().iter().filter(|it| it["required"] == true).collect();
    assert_eq!(required.len(), 4, "{shown}");
    let types = data(adapter.call("introspect", json!({ "query": "types" })).await);
    for name in
        ["ExecutionState", "ExecutionStatus", "ExecutionProgress", "ExecutionError", "Export"]
    {
        assert!(entry_names(&types["types"]).contains(&name), "{name}: {types}");
    }
    let client = Client::connect(&adapter).await.unwrap();
    let tools = client.list_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "mcp_aql_execute").unwrap();
    assert!(tool.description.contains("retry_execution"), "{}", tool.description);
}

#[test]
fn execution_operations_exist_only_with_executions() {
    // REQ-LIF-09
    struct Only;
    impl Operations for Only {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
            OperationSpec::new("execute_panic", SemanticCategory::Execute, "Run.")
                .lifecycle(LifecycleSpec::new(true, false, false)),
            |_, call| Box::pin(async move { call.reply(()) }),
        )];
    }
    let names = |adapter: &Adapter| {
        let names = adapter.operations().map(|spec| spec.name).collect::<Vec<_>>();
        names.join(" ")
    };
    let adapter = Adapter::builder("only").operations(Only).without_config().build().unwrap();
    assert_eq!(
        names(&adapter),
        "introspect execute_panic get_execution list_executions cancel_execution"
    );
    let adapter = Adapter::builder("none").without_config().build().unwrap();
    assert_eq!(names(&adapter), "introspect");
}

#[test]
fn build_reports_impossible_configurations() {
    // REQ-CLS-13
    struct Wrong;
    impl Operations for Wrong {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
            OperationSpec::new("get_execution", SemanticCategory::Read, "Look.")
                .lifecycle(LifecycleSpec::new(false, false, false)),
            |_, call| Box::pin(async move { call.reply(()) }),
        )];
    }
    let options = ExecutionOptions::new().keep(SECOND);
    let name = "wrong".repeat(50);
    let builder = Adapter::builder(name).operations(Wrong).executions(options).without_config();
    let error = builder.build().unwrap_err().to_string();
    for problem in [
        "the adapter's name has 250 bytes: write at most 200",
        "two operations are called `get_execution`",
        "operation `get_execution` is READ, but has a `lifecycle`: only EXECUTE operations can run as executions",
        "`executions.keep_seconds` is 1: choose 60 to 31536000",
    ] {
        assert!(error.contains(problem), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_has_every_step() {
    // REQ-LIF-11
    let log = AuditLines::default();
    let adapter = builder(&Works::default()).audit_sink(log.clone()).build().unwrap();
    let secret = begin(&adapter, "execute_secret", json!({ "token": "open sesame" })).await;
    sleep(SECOND).await;
    ask(&adapter, "retry_execution", &secret).await;
    sleep(SECOND).await;
    let export = begin(&adapter, "execute_export", json!({ "rooms": 9 })).await;
    sleep(SECOND).await;
    ask(&adapter, "cancel_execution", &export).await;
    let lines = log.0.lock().unwrap();
    let lines: Vec<_> = lines
        .iter()
        .filter(|line| line["event"].as_str().unwrap().starts_with("EXECUTION_"))
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["event"].as_str().unwrap(), line["execution_id"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("EXECUTION_STARTED", &*secret),
            ("EXECUTION_FAILED", &*secret),
            ("EXECUTION_RETRIED", &*secret),
            ("EXECUTION_COMPLETED", &*secret),
            ("EXECUTION_STARTED", &*export),
            ("EXECUTION_CANCELLED", &*export),
        ]
    );
    assert_eq!(lines[0]["params"], json!({ "token": "[redacted]" }));
    assert_eq!(
        (&lines[5]["reason"], &lines[5]["outcome"]),
        (&json!("requested"), &json!("cancelled"))
    );
}

#[tokio::test(start_paused = true)]
async fn warnings_of_an_execution_are_part_of_its_state() {
    // REQ-LIF-04, REQ-WRN-11
    struct Wary;
    impl Operations for Wary {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
            OperationSpec::new("execute_move", SemanticCategory::Execute, "Move all boxes.")
                .lifecycle(LifecycleSpec::new(false, true, false)),
            |_, call| {
                Box::pin(async move {
                    let attempt = call.execution()?.attempt();
                    let context = call.context();
                    if attempt < 3 {
                        context.warn(Warning::new("VALIDATION_DENT", "A box has a dent"));
                        context.warn(Warning::new("VALIDATION_LONG", "x".repeat(9_000)));
                    }
                    match attempt {
                        1 => Err(OperationError::not_found("box", "b-7")),
                        _ => call.reply(()),
                    }
                })
            },
        )];
    }
    let adapter = Adapter::builder("wary").operations(Wary).without_config().build().unwrap();
    let id = begin(&adapter, "execute_move", json!({})).await;
    sleep(SECOND).await;
    let failed = state(&adapter, &id).await;
    assert_eq!(failed["status"], "failed");
    let dent = json!([{ "code": "VALIDATION_DENT", "message": "A box has a dent" }]);
    assert_eq!(failed["warnings"], dent);
    data(ask(&adapter, "retry_execution", &id).await);
    sleep(SECOND).await;
    let done = state(&adapter, &id).await;
    assert_eq!((&done["status"], &done["warnings"]), (&json!("completed"), &dent));
    let listed = data(adapter.call("list_executions", json!({})).await);
    assert!(listed["items"][0]["warnings"].is_null(), "{listed}");
}

#[tokio::test(start_paused = true)]
async fn confirming_a_retry_confirms_the_operation() {
    // REQ-GATE-04, REQ-LIF-02
    let works = Works::default();
    let policies = |builder: AdapterBuilder, policies: &[Policy]| {
        policies.iter().cloned().fold(builder, AdapterBuilder::policy).build().unwrap()
    };
    let reason = "look at why it failed first";
    let outer = Policy::confirm("retry_execution").reason(reason);
    for (alias, with) in [
        ("_confirmation", vec![outer.clone()]),
        // Both policies require a confirmation. One token satisfies both.
        ("confirmation_token", vec![outer.clone(), Policy::confirm("execute_flaky")]),
    ] {
        let adapter = policies(builder(&works), &with);
        let mut params = json!({});
        if with.len() > 1 {
            let asked = adapter.call("execute_flaky", json!({})).await;
            params["_confirmation"] = asked.error().unwrap().details["confirmation_token"].clone();
        }
        let id = begin(&adapter, "execute_flaky", params).await;
        sleep(SECOND).await;
        assert_eq!(state(&adapter, &id).await["status"], "failed");
        let retry = async |params: Value| adapter.call("retry_execution", params).await;
        let asked = retry(json!({ "execution_id": id })).await;
        assert_eq!(asked.code(), Some("CONFIRMATION_REQUIRED"), "{asked:?}");
        let details = &asked.error().unwrap().details;
        assert_eq!(details["operation"], "execute_flaky");
        let token = details["confirmation_token"].clone();
        if with.len() == 1 {
            assert_eq!(details["reasons"], json!([reason]));
        }
        let again = data(retry(json!({ "execution_id": id, alias: token })).await);
        assert_eq!(again["attempt"], 2);
    }
    // A denied operation cannot be retried.
    let denied = policies(builder(&works), &[Policy::deny("retry_execution")]);
    let refused = ask(&denied, "retry_execution", "exec_0").await;
    assert_eq!(refused.code(), Some("PERMISSION_DENIED"));
}

#[tokio::test(start_paused = true)]
async fn a_retry_passes_the_gates_of_what_it_runs_again() {
    // REQ-LIF-02, REQ-DNG-03
    struct Risky;
    impl Operations for Risky {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
            OperationSpec::new("execute_flood", SemanticCategory::Execute, "Open all valves.")
                .danger(DangerSpec::new(DangerLevel::Destructive))
                .lifecycle(LifecycleSpec::new(false, true, false)),
            |_, call| {
                Box::pin(async move {
                    match call.execution()?.attempt() {
                        1 => Err(OperationError::not_found("valve", "v-7")),
                        _ => call.reply(()),
                    }
                })
            },
        )];
    }
    let adapter = Adapter::builder("risky").operations(Risky).without_config().build().unwrap();
    let confirmed = async |operation: &str, mut params: Value| {
        let asked = adapter.call(operation, params.clone()).await;
        assert_eq!(asked.code(), Some("CONFIRMATION_REQUIRED"), "{operation}: {asked:?}");
        params["_confirmation"] = asked.error().unwrap().details["confirmation_token"].clone();
        data(adapter.call(operation, params).await)
    };
    let begun = confirmed("execute_flood", json!({})).await;
    let other = confirmed("execute_flood", json!({})).await;
    sleep(SECOND).await;
    let id = begun["execution_id"].as_str().unwrap();
    assert_eq!(state(&adapter, id).await["status"], "failed");
    // A token for one retry is invalid for another execution with the same parameters, and for a new execution.
    let asked = ask(&adapter, "retry_execution", id).await;
    let token = &asked.error().unwrap().details["confirmation_token"];
    let again = json!({ "execution_id": other["execution_id"], "_confirmation": token });
    let refused = adapter.call("retry_execution", again).await;
    assert_eq!(refused.code(), Some("TOKEN_SCOPE_MISMATCH"), "{refused:?}");
    let anew = adapter.call("execute_flood", json!({ "_confirmation": token })).await;
    assert_eq!(anew.code(), Some("TOKEN_SCOPE_MISMATCH"), "{anew:?}");
    let again = json!({ "execution_id": id, "_confirmation": token });
    assert_eq!(data(adapter.call("retry_execution", again).await)["attempt"], 2);
    sleep(SECOND).await;
    assert_eq!(state(&adapter, id).await["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn the_execution_limit_holds_and_rejected_ones_use_nothing_up() {
    // REQ-LIF-04, REQ-RATE-01, REQ-RATE-02, REQ-TOK-10
    use mcp_aql::rate_limits::{ApiLimit, RateLimits};
    let options = ExecutionOptions::new().max_running(3).max_running_per_session(2);
    let adapter = builder(&Works::default())
        .executions(options)
        .policy(Policy::confirm("execute_export"))
        .rate_limits(RateLimits::new().limit(ApiLimit::global(4)))
        .build()
        .unwrap();
    let export = async |client: &Client, confirmed: Option<&Value>| {
        let mut params = json!({ "rooms": 60 });
        if let Some(token) = confirmed {
            params["_confirmation"] = token.clone();
        }
        client.call("mcp_aql_execute", "execute_export", params).await.unwrap()
    };
    let token = async |client: &Client| {
        let asked = export(client, None).await;
        assert_eq!(asked.code(), Some("CONFIRMATION_REQUIRED"), "{asked:?}");
        asked.error().unwrap().details["confirmation_token"].clone()
    };
    let (one, other) =
        (Client::connect(&adapter).await.unwrap(), Client::connect(&adapter).await.unwrap());
    let spare = token(&one).await;
    let mut ids = Vec::new();
    for client in [&one, &one, &other] {
        let token = token(client).await;
        let begun = data(export(client, Some(&token)).await);
        ids.push(begun["execution_id"].clone());
        if ids.len() == 2 {
            let full = export(&one, Some(&spare)).await;
            assert_eq!(full.code(), Some("RATE_LIMIT_EXCEEDED"), "{full:?}");
            let details = &full.error().unwrap().details;
            assert_eq!((&details["scope"], &details["limit"]), (&json!("session"), &json!(2)));
        }
    }
    // The adapter has reached its limit, so it does not even request a confirmation.
    let full = export(&other, None).await;
    assert_eq!(full.code(), Some("RATE_LIMIT_EXCEEDED"), "{full:?}");
    let details = &full.error().unwrap().details;
    assert_eq!(
        (&details["scope"], &details["retry_after_seconds"]),
        (&json!("adapter"), &json!(5))
    );
    // When an execution ends, its slot is free. The token is still valid. Three of the four allowed calls are used.
    data(
        one.call("mcp_aql_execute", "cancel_execution", json!({ "execution_id": ids[0] }))
            .await
            .unwrap(),
    );
    data(export(&one, Some(&spare)).await);
}

#[tokio::test(start_paused = true)]
async fn a_retry_counts_once_however_many_try_it() {
    // REQ-RATE-01, REQ-RATE-07, REQ-LIF-02
    use mcp_aql::rate_limits::{ApiLimit, Metric, Quota, RateLimits};
    let limits = RateLimits::new()
        .limit(ApiLimit::global(10))
        .quota(Quota::new(Metric::RequestsPerHour).pause(1));
    let adapter = builder(&Works::default()).rate_limits(limits).build().unwrap();
    let id = begin(&adapter, "execute_flaky", json!({})).await;
    sleep(SECOND).await;
    assert_eq!(state(&adapter, &id).await["status"], "failed");
    let paused = ask(&adapter, "retry_execution", &id).await;
    assert_eq!(paused.code(), Some("RATE_LIMIT_QUOTA_PAUSE"), "{paused:?}");
    // Of eight tokens for the same retry, only the first to arrive is accepted.
    let mut tokens = vec![paused.error().unwrap().details["confirmation_token"].clone()];
    for _ in 0..7 {
        let paused = ask(&adapter, "retry_execution", &id).await;
        tokens.push(paused.error().unwrap().details["confirmation_token"].clone());
    }
    let tries = tokens.iter().map(|token| {
        let params = json!({ "execution_id": id, "_quota_continue": token });
        adapter.call("retry_execution", params)
    });
    let tries = futures_util::future::join_all(tries).await;
    let begun = tries.iter().filter(|tried| tried.is_success()).count();
    assert_eq!(begun, 1, "{tries:?}");
    let status = data(adapter.call("introspect", json!({ "query": "quota_status" })).await);
    assert_eq!(status["api_limits"]["global"]["remaining"], 8, "{status}");
    assert_eq!(status["quotas"][0]["current"], 2, "{status}");
}
