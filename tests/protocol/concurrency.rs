//! Tests that the published concurrency mode is enforced, and that resources have versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Cancellation, Endpoint};
use mcp_aql::{AdapterBuilder, Concurrency, Policy};
use serde_json::{Value, json};

use crate::board::{board, builder};
use crate::support::{block_on, call, code, data, details};

/// Counts the calls that run at the same time. Remembers the maximum.
#[derive(Clone, Default)]
struct ConcurrencyCounter(Arc<(AtomicU32, AtomicU32)>);

impl ConcurrencyCounter {
    async fn visit(&self) -> u32 {
        let inside = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(inside, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.0.0.fetch_sub(1, Ordering::SeqCst);
        inside
    }

    fn most(&self) -> u32 {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Count the concurrent calls.
#[operation(category = "READ", rationale = "It looks")]
async fn look(State(counter): State<ConcurrencyCounter>) -> u32 {
    counter.visit().await
}

/// Make a change.
#[operation(category = "EXECUTE", rationale = "It changes")]
async fn change(State(counter): State<ConcurrencyCounter>) -> u32 {
    counter.visit().await
}

/// Wait forever.
#[operation(category = "EXECUTE", rationale = "It waits")]
async fn wait() {
    std::future::pending::<()>().await;
}

fn counting(
    counter: &ConcurrencyCounter,
    category: Concurrency,
    places: Option<usize>,
) -> AdapterBuilder {
    let builder = Adapter::builder("counter")
        .operation(look {})
        .operation(change {})
        .operation(wait {})
        .state(counter.clone())
        .concurrency(category)
        .without_config();
    match places {
        Some(places) => builder.max_concurrent_requests(places),
        None => builder,
    }
}

fn most_at_once(category: Concurrency, places: Option<usize>, operations: &[&str]) -> u32 {
    let counter = ConcurrencyCounter::default();
    let adapter = counting(&counter, category, places).build().unwrap();
    block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for operation in operations {
            let adapter = adapter.clone();
            let operation = (*operation).to_owned();
            tasks.spawn(async move { adapter.call(&operation, json!({})).await });
        }
        while let Some(result) = tasks.join_next().await {
            assert!(result.unwrap().is_success());
        }
    });
    counter.most()
}

#[test]
fn the_category_is_published_and_kept() {
    // REQ-CON-01, REQ-CON-04, REQ-CON-05
    let (reads, writes) = (["look"; 4], ["change"; 4]);
    let mixed = ["look", "look", "change", "look"];
    assert_eq!(most_at_once(Concurrency::Serialized, None, &reads), 1);
    assert_eq!(most_at_once(Concurrency::ReadConcurrent, None, &reads), 4);
    assert_eq!(most_at_once(Concurrency::ReadConcurrent, None, &writes), 1);
    assert!(most_at_once(Concurrency::ReadConcurrent, None, &mixed) <= 2);
    assert_eq!(most_at_once(Concurrency::FullyConcurrent, None, &writes), 4);
    assert_eq!(most_at_once(Concurrency::ResourceLocked, None, &writes), 4);
    assert_eq!(most_at_once(Concurrency::FullyConcurrent, Some(2), &writes), 2);
    for (category, word) in [
        (Concurrency::Serialized, "serialized"),
        (Concurrency::ReadConcurrent, "read-concurrent"),
        (Concurrency::FullyConcurrent, "fully-concurrent"),
        (Concurrency::ResourceLocked, "resource-locked"),
    ] {
        let adapter = builder().concurrency(category).build().unwrap();
        let list = data(call(&adapter, "introspect", json!({ "query": "operations" })));
        assert_eq!(list["_protocol"]["concurrency"], word);
    }
    let error = builder().max_concurrent_requests(0).build().unwrap_err();
    assert!(error.to_string().contains("no call could run"), "{error}");
}

#[test]
fn a_stale_version_changes_nothing() {
    // REQ-CON-02, REQ-CON-03, choice C-25
    let board = board();
    let made = data(call(&board, "create_task", json!({ "title": "Milk" })));
    assert_eq!(made["task"]["_version"], 1);
    let update = |version: Value, title: &str| {
        let params = json!({ "task_id": "t-1", "if_match": version, "input": { "title": title } });
        call(&board, "update_task", params)
    };
    assert_eq!(data(update(json!(1), "Bread"))["task"]["_version"], 2);
    let reply = update(json!(1), "Butter");
    assert_eq!(code(&reply), Some("CONFLICT_VERSION_MISMATCH"));
    assert_eq!(details(&reply)["expected_version"], "1");
    assert_eq!(details(&reply)["actual_version"], "2");
    let task = data(call(&board, "get_task", json!({ "task_id": "t-1" })))["task"].clone();
    assert_eq!((&task["title"], &task["_version"]), (&json!("Bread"), &json!(2)));
    // Without `if_match`, the last write wins.
    let params = json!({ "task_id": "t-1", "input": { "title": "Cheese" } });
    assert_eq!(data(call(&board, "update_task", params))["task"]["_version"], 3);
    assert_eq!(code(&update(json!("3"), "a")), Some("VALIDATION_INVALID_TYPE"));
}

#[test]
fn a_disconnected_caller_cancels_a_read_but_not_a_change() {
    // REQ-RQ-08, REQ-CON-05
    let counter = ConcurrencyCounter::default();
    let adapter = Adapter::builder("counter")
        .operation(look {})
        .operation(change {})
        .state(counter)
        .without_config()
        .build()
        .unwrap();
    for (operation, expected) in [("look", Some("INTERNAL_ERROR")), ("change", None)] {
        let Value::Object(asked) = json!({ "operation": operation }) else { panic!("no object") };
        let cancellation = Cancellation::default();
        let scope = CallScope { cancellation: Some(cancellation.clone()), ..CallScope::default() };
        // `join!` polls the call first, so the operation has started when the call is canceled.
        let call = adapter.handle(Endpoint::Unified, asked.clone(), scope.clone());
        let (reply, ()) = block_on(async { tokio::join!(call, async { cancellation.cancel() }) });
        assert_eq!(reply.code.map(|code| code.as_str()), expected, "{operation}");
        // If the call is already canceled, the operation never starts.
        let reply = block_on(adapter.handle(Endpoint::Unified, asked, scope));
        assert_eq!(reply.code.map(|code| code.as_str()), Some("INTERNAL_ERROR"), "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_gone_does_not_wait_for_its_turn() {
    // REQ-RQ-08, REQ-CON-01
    for (category, places) in [
        (Concurrency::Serialized, None),
        (Concurrency::ReadConcurrent, None),
        (Concurrency::FullyConcurrent, Some(1)),
    ] {
        let adapter = counting(&ConcurrencyCounter::default(), category, places).build().unwrap();
        let mut running = std::pin::pin!(adapter.call("wait", json!({})));
        assert!(running.as_mut().now_or_never().is_none());
        for operation in ["look", "change"] {
            let cancellation = Cancellation::default();
            let Value::Object(asked) = json!({ "operation": operation }) else {
                panic!("no object")
            };
            let call = adapter.handle(Endpoint::Unified, asked, cancellation.clone().into());
            let mut call = std::pin::pin!(call);
            assert!(call.as_mut().now_or_never().is_none(), "{operation}");
            cancellation.cancel();
            let reply = tokio::time::timeout(Duration::from_secs(60), call).await.unwrap();
            let code = reply.code.map(|code| code.as_str());
            assert_eq!(code, Some("INTERNAL_ERROR"), "{category:?} {operation}");
            assert!(reply.text.contains("It has changed nothing"), "{}", reply.text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_beyond_the_waiting_ones_is_rejected_and_uses_nothing_up() {
    // REQ-RATE-02, REQ-TOK-10
    let builder = counting(&ConcurrencyCounter::default(), Concurrency::Serialized, None);
    let adapter = builder.policy(Policy::confirm("change")).build().unwrap();
    let asked = adapter.call("change", json!({})).await;
    let token = &asked.error().unwrap().details["confirmation_token"];
    let confirmed = json!({ "_confirmation": token });
    {
        let mut running = std::pin::pin!(adapter.call("wait", json!({})));
        assert!(running.as_mut().now_or_never().is_none());
        let waiting = (0..1_024).map(|_| adapter.call("look", json!({})));
        // All of them are polled at once.
        let waiting = tokio::task::unconstrained(futures_util::future::join_all(waiting));
        let mut waiting = std::pin::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        let rejected = adapter.call("change", confirmed.clone()).await;
        assert_eq!(rejected.code(), Some("RATE_LIMIT_EXCEEDED"), "{rejected:?}");
        let details = &rejected.error().unwrap().details;
        assert_eq!((&details["limit"], &details["scope"]), (&json!(1_024), &json!("adapter")));
        assert_eq!(details["retry_after_seconds"], 5);
        // A call that need not wait is answered.
        assert!(adapter.call("introspect", json!({ "query": "operations" })).await.is_success());
    }
    assert_eq!(adapter.call("change", confirmed).await.data(), 1);
}

#[test]
fn a_time_limit_ends_what_takes_too_long() {
    // REQ-RQ-08
    let adapter = Adapter::builder("counter")
        .operation(wait {})
        .time_limit(Duration::from_millis(1))
        .without_config()
        .build()
        .unwrap();
    let failed = call(&adapter, "wait", json!({}));
    assert_eq!(code(&failed), Some("INTERNAL_ERROR"));
    let error = &failed["error"];
    assert_eq!(error["details"]["timeout_seconds"], 0.001);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("time limit of 0.001 s and was stopped; its changes"), "{message}");
}

/// Wait for this time.
#[operation(category = "READ", rationale = "It only waits", timeout_seconds = 2)]
async fn wait_briefly(
    /// The time in milliseconds.
    millis: u64,
) -> u64 {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    millis
}

/// Wait for this time in the background.
#[operation(category = "EXECUTE", lifecycle, timeout_seconds = 2)]
async fn execute_wait(
    /// The time in milliseconds.
    millis: u64,
) -> u64 {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    millis
}

#[tokio::test(start_paused = true)]
async fn an_operation_has_a_time_limit_of_its_own() {
    // REQ-RQ-08, REQ-LIF-05
    for limit in [None, Some(Duration::from_millis(1)), Some(Duration::from_secs(60))] {
        let builder =
            Adapter::builder("timed").operation(wait_briefly {}).operation(execute_wait {});
        let builder = match limit {
            Some(limit) => builder.time_limit(limit),
            None => builder,
        };
        let adapter = builder.without_config().build().unwrap();
        let in_time = adapter.call("wait_briefly", json!({ "millis": 1_900 })).await;
        assert_eq!(in_time.data(), 1_900, "{limit:?}");
        let late = adapter.call("wait_briefly", json!({ "millis": 2_100 })).await;
        let error = late.error().unwrap();
        assert_eq!(late.code(), Some("INTERNAL_ERROR"), "{limit:?}");
        assert_eq!(error.details["timeout_seconds"], 2.0);
        assert!(
            error.message.contains("time limit of 2 s and was stopped; ask for less"),
            "{}",
            error.message
        );

        for (millis, expected) in [(1_900, "completed"), (2_100, "failed")] {
            let begun = adapter.call("execute_wait", json!({ "millis": millis })).await;
            let id = begun.data()["execution_id"].clone();
            let wait = json!({ "execution_id": id, "wait_seconds": 5 });
            let ended = adapter.call("get_execution", wait).await;
            assert_eq!(ended.data()["status"], expected, "{limit:?}");
            if expected == "failed" {
                assert_eq!(ended.data()["error"]["details"]["timeout_seconds"], 2.0);
            }
        }
    }
}
