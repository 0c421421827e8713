//! The metrics page after calls of all kinds.

use std::time::Duration;

use mcp_aql::observe::Metrics;
use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::MemoryState;
use mcp_aql::testing::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Return the square of a number.
#[operation(category = "READ")]
fn get_square(
    /// The number.
    #[param(maximum = 1000)]
    number: u32,
) -> u32 {
    number * number
}

/// Delete everything.
#[operation(category = "DELETE")]
fn delete_everything() -> u32 {
    0
}

/// Export everything.
#[operation(category = "EXECUTE", danger(level = "reversible"), lifecycle())]
async fn run_export(
    /// Whether the export fails.
    #[param(default = false)]
    fails: bool,
) -> Result<bool, OperationError> {
    if fails { Err(OperationError::internal("broken")) } else { Ok(true) }
}

fn adapter() -> Adapter {
    Adapter::builder("numbers")
        .version("1.2.3")
        .operation(get_square {})
        .operation(delete_everything {})
        .operation(run_export {})
        .without_config()
        .build()
        .unwrap()
}

/// Returns the value of a series, or `None` if the page does not contain it.
fn value(page: &str, series: &str) -> Option<f64> {
    let lines = page.lines().filter_map(|line| line.rsplit_once(' '));
    let mut values = lines.filter(|(name, _)| *name == series).map(|(_, value)| value);
    values.next().map(|value| value.parse().unwrap())
}

fn check(page: &str, expected: &[(&str, f64)]) {
    for (series, count) in expected {
        assert_eq!(value(page, series), Some(*count), "{series} in\n{page}");
    }
}

#[tokio::test]
async fn calls_and_errors_are_counted_by_operation_and_code() {
    // REQ-TOK-16
    let adapter = adapter();
    let metrics = Metrics::of(&adapter).unwrap();
    for (operation, params) in [
        ("get_square", json!({ "number": 3 })),
        ("get_square", json!({ "number": 4 })),
        ("get_square", json!({ "number": 4000 })),
        ("name_of_a_caller", json!({})),
        ("other_name", json!({})),
        ("delete_everything", json!({})),
    ] {
        adapter.call(operation, params).await;
    }
    let page = metrics.page().await;
    check(
        &page,
        &[
            (
                r#"mcp_aql_build_info{adapter="numbers",version="1.2.3",mcp_aql_version="0.1.0"}"#,
                1.0,
            ),
            (
                r#"mcp_aql_calls_total{operation="get_square",category="READ",outcome="succeeded"}"#,
                2.0,
            ),
            (
                r#"mcp_aql_calls_total{operation="get_square",category="READ",outcome="failed"}"#,
                1.0,
            ),
            (r#"mcp_aql_calls_total{operation="_OTHER",category="_OTHER",outcome="failed"}"#, 2.0),
            (
                r#"mcp_aql_errors_total{operation="get_square",code="VALIDATION_INVALID_VALUE"}"#,
                1.0,
            ),
            (r#"mcp_aql_errors_total{operation="_OTHER",code="NOT_FOUND_OPERATION"}"#, 2.0),
            (
                r#"mcp_aql_errors_total{operation="delete_everything",code="CONFIRMATION_REQUIRED"}"#,
                1.0,
            ),
            (r#"mcp_aql_call_duration_seconds_count{operation="get_square"}"#, 3.0),
            (r#"mcp_aql_confirmations_total{step="asked",by="token"}"#, 1.0),
            (r#"mcp_aql_store_errors_total{access="write"}"#, 0.0),
        ],
    );
    assert!(value(&page, r#"mcp_aql_store_duration_seconds_count{access="write"}"#) > Some(0.0));
    assert!(!page.contains("name_of_a_caller") && !page.contains("other_name"), "{page}");
    // An adapter can have metrics only once.
    assert!(Metrics::of(&adapter).is_err());
}

#[tokio::test]
async fn executions_are_counted_apart_from_calls() {
    let adapter = adapter();
    let metrics = Metrics::of(&adapter).unwrap();
    for fails in [false, true] {
        let begun = adapter.call("run_export", json!({ "fails": fails })).await;
        let id = json!({ "execution_id": begun.data()["execution_id"], "wait_seconds": 60 });
        loop {
            let state = adapter.call("get_execution", id.clone()).await;
            let status: &Value = &state.data()["status"];
            if status != "pending" && status != "running" {
                break;
            }
        }
    }
    let page = metrics.page().await;
    check(
        &page,
        &[
            (r#"mcp_aql_executions_started_total{operation="run_export"}"#, 2.0),
            (r#"mcp_aql_executions_ended_total{operation="run_export",outcome="succeeded"}"#, 1.0),
            (r#"mcp_aql_executions_ended_total{operation="run_export",outcome="failed"}"#, 1.0),
            (r#"mcp_aql_execution_duration_seconds_count{operation="run_export"}"#, 2.0),
            (
                r#"mcp_aql_calls_total{operation="run_export",category="EXECUTE",outcome="succeeded"}"#,
                2.0,
            ),
            (r#"mcp_aql_executions{state="pending"}"#, 0.0),
        ],
    );
}

#[tokio::test]
async fn sessions_are_counted_while_they_are_open() {
    // REQ-SES-02
    let adapter = adapter();
    let metrics = Metrics::of(&adapter).unwrap();
    let clients =
        [Client::connect(&adapter).await.unwrap(), Client::connect(&adapter).await.unwrap()];
    for client in &clients {
        client.call("mcp_aql_read", "get_square", json!({ "number": 2 })).await.unwrap();
    }
    let page = metrics.page().await;
    check(&page, &[("mcp_aql_sessions", 2.0), ("mcp_aql_sessions_opened_total", 2.0)]);
    for client in clients {
        client.close().await.unwrap();
    }
    let page = metrics.page().await;
    check(&page, &[("mcp_aql_sessions", 0.0), ("mcp_aql_sessions_opened_total", 2.0)]);
}

#[tokio::test]
async fn the_safety_loop_has_gauges() {
    let adapter = Adapter::builder("guarded")
        .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
        .store(MemoryState::default())
        .without_config()
        .build()
        .unwrap();
    let page = Metrics::of(&adapter).unwrap().page().await;
    check(&page, &[("mcp_aql_open_requests", 0.0), ("mcp_aql_blocked_agents", 0.0)]);
}

/// Sends a request for the page to this address, and returns the response.
async fn request(address: std::net::SocketAddr, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    tokio::time::timeout(Duration::from_secs(60), read).await.unwrap().unwrap();
    answer
}

#[tokio::test]
async fn the_page_is_served_to_this_machine() {
    let adapter = adapter();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let metrics = Metrics::of(&adapter).unwrap();
    let served = tokio::spawn(metrics.serve(listener, std::future::pending()));
    let answer = request(address, &address.to_string(), "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert!(answer.contains("# TYPE mcp_aql_sessions gauge\n"), "{answer}");
    // A website can point its own domain at this address (DNS rebinding).
    for (host, status) in [
        ("127.0.0.1:9464", "200"),
        ("LOCALHOST", "200"),
        ("[::1]:9464", "200"),
        ("[::1]", "200"),
        ("127.0.0.1.example.org:9464", "403"),
        ("rebound.example.org", "403"),
        ("", "403"),
    ] {
        let answer = request(address, host, "/metrics").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
    let answer = request(address, "localhost", "/").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    served.abort();
}
