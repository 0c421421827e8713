//! Tests the information that observers receive about calls and executions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql::AdapterBuilder;
use mcp_aql::auth::Principal;
use mcp_aql::observe::CallOutcome;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::{Value, json};

/// Get a number.
#[operation(category = "READ")]
fn get_number(
    /// The number.
    number: u8,
) -> u8 {
    number
}

/// Delete the number.
#[operation(category = "DELETE")]
fn delete_number() {}

/// Execute for this time in the background.
#[operation(category = "EXECUTE", lifecycle(cancel))]
async fn execute_wait(
    /// The time in seconds.
    seconds: u64,
) -> Result<u64, mcp_aql::OperationError> {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    match seconds {
        3 => Err(mcp_aql::OperationError::not_found("second", "3")),
        _ => Ok(seconds),
    }
}

/// The observed properties that tests compare.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    operation: Option<String>,
    outcome: CallOutcome,
    code: Option<&'static str>,
    execution: bool,
    subject: Option<String>,
    bytes: (Option<usize>, usize),
}

type Log = Arc<Mutex<Vec<Seen>>>;

fn observed() -> (AdapterBuilder, Log) {
    let log = Log::default();
    let seen = Arc::clone(&log);
    let builder = Adapter::builder("observed")
        .operation(get_number {})
        .operation(delete_number {})
        .operation(execute_wait {})
        .observe(move |event| {
            assert_eq!(event.category.is_some(), event.operation.is_some());
            seen.lock().unwrap().push(Seen {
                operation: event.operation.map(str::to_owned),
                outcome: event.outcome,
                code: event.code.map(|code| code.as_str()),
                execution: event.execution_id.is_some(),
                subject: event.scope.principal().map(|it| it.subject().to_owned()),
                bytes: (event.request_bytes, event.reply_bytes),
            });
        })
        .without_config();
    (builder, log)
}

fn take(log: &Log) -> Vec<(Option<String>, CallOutcome, Option<&'static str>)> {
    std::mem::take(&mut *log.lock().unwrap())
        .into_iter()
        .map(|seen| (seen.operation, seen.outcome, seen.code))
        .collect()
}

#[tokio::test]
async fn every_call_is_one_event() {
    let (builder, log) = observed();
    let adapter = builder.build().unwrap();
    let some = |name: &str| Some(name.to_owned());
    for (operation, params, expected) in [
        ("get_number", json!({ "number": 1 }), (some("get_number"), CallOutcome::Succeeded, None)),
        (
            "get_number",
            json!({ "number": 999 }),
            (some("get_number"), CallOutcome::Failed, Some("VALIDATION_INVALID_VALUE")),
        ),
        ("get_nothing", json!({}), (None, CallOutcome::Failed, Some("NOT_FOUND_OPERATION"))),
        (
            "delete_number",
            json!({}),
            (some("delete_number"), CallOutcome::AwaitsConfirmation, Some("CONFIRMATION_REQUIRED")),
        ),
        (
            "introspect",
            json!({ "query": "types" }),
            (some("introspect"), CallOutcome::Succeeded, None),
        ),
    ] {
        adapter.call(operation, params).await;
        assert_eq!(take(&log), [expected], "{operation}");
    }
    let text = br#"{"operation":"get_number","params":{"number":7}}"#;
    let odd = br#"{"operation":"get_number","params":{"number":7},"_meta":{}}"#;
    for text in [&text[..], odd] {
        let reply = adapter.handle(Endpoint::Unified, text, CallScope::default()).await;
        let seen = log.lock().unwrap().pop().unwrap();
        assert_eq!(seen.bytes, (Some(text.len()), reply.text.len()));
    }
    adapter.handle(Endpoint::Unified, b"[", CallScope::default()).await;
    assert_eq!(take(&log), [(None, CallOutcome::Failed, Some("VALIDATION_INVALID_TYPE"))]);
}

#[tokio::test]
async fn items_of_a_batch_are_events_of_their_own_and_name_the_principal() {
    let (builder, log) = observed();
    let ada = Principal::new("test", "ada").with_scopes(["observed:read"]);
    let adapter = builder.build().unwrap().with_extension(ada);
    let items = json!([
        { "operation": "get_number", "params": { "number": 1 } },
        { "operation": "delete_number" },
        { "operation": "get_number", "params": {} },
    ]);
    let arguments = serde_json::Map::from_iter([("operations".to_owned(), items)]);
    adapter.handle(Endpoint::Unified, arguments, CallScope::default()).await;
    let seen = log.lock().unwrap().clone();
    let codes: Vec<_> = seen.iter().map(|it| it.code).collect();
    assert_eq!(codes, [None, Some("PERMISSION_DENIED"), Some("VALIDATION_MISSING_PARAM")]);
    assert!(seen.iter().all(|it| it.subject.as_deref() == Some("ada")), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_an_execution_is_an_event() {
    let (builder, log) = observed();
    let adapter = builder.build().unwrap();
    for (seconds, cancel, outcome, code) in [
        (1, false, CallOutcome::Succeeded, None),
        (3, false, CallOutcome::Failed, Some("NOT_FOUND_RESOURCE")),
        (60, true, CallOutcome::Cancelled, None),
    ] {
        let begun = adapter.call("execute_wait", json!({ "seconds": seconds })).await;
        let id: Value = begun.data()["execution_id"].clone();
        if cancel {
            adapter.call("cancel_execution", json!({ "execution_id": id })).await;
        }
        adapter.call("get_execution", json!({ "execution_id": id, "wait_seconds": 30 })).await;
        let seen = std::mem::take(&mut *log.lock().unwrap());
        let ended: Vec<_> = seen.iter().filter(|it| it.execution).collect();
        assert_eq!(ended.len(), 1, "{seen:?}");
        assert_eq!((ended[0].outcome, ended[0].code), (outcome, code));
        assert_eq!(ended[0].operation.as_deref(), Some("execute_wait"));
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_an_event() {
    let (builder, log) = observed();
    let adapter = builder.operation(get_never {}).build().unwrap();
    let call = adapter.call("get_never", json!({}));
    assert!(tokio::time::timeout(Duration::from_millis(10), call).await.is_err());
    assert_eq!(take(&log), [(Some("get_never".to_owned()), CallOutcome::Cancelled, None)]);
}

/// Wait forever.
#[operation(category = "READ")]
async fn get_never() {
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_observer_that_panics_does_not_affect_calls() {
    let (builder, log) = observed();
    let adapter = builder.observe(|_| panic!("the observer fails")).build().unwrap();
    let result = adapter.call("get_number", json!({ "number": 1 })).await;
    assert_eq!(result.data(), 1);
    assert_eq!(log.lock().unwrap().len(), 1);
}
