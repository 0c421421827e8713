//! The log of an adapter in the JSON formats of tracing-subscriber. They write the fields of a span next to its name
//! and, if requested, the fields of an event next to its level.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::json;
use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::own_process::runs_alone;
use crate::strict_json::assert_strict;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Return the square of a number.
#[operation(category = "READ")]
fn get_square(
    /// The number.
    #[param(maximum = 1000)]
    number: u32,
) -> u32 {
    number * number
}

/// Fail.
#[operation(category = "READ")]
fn get_fault() -> Result<u32, OperationError> {
    Err(OperationError::internal("broken"))
}

/// Delete everything.
#[operation(category = "DELETE")]
fn delete_everything() -> u32 {
    0
}

/// Export everything.
#[operation(category = "EXECUTE", danger(level = "reversible"), lifecycle())]
async fn run_export(
    context: Context,
    /// Whether the export fails.
    #[param(default = false)]
    fails: bool,
) -> Result<bool, OperationError> {
    context.progress(1.0, None, "exporting").await;
    if fails { Err(OperationError::internal("broken")) } else { Ok(true) }
}

#[tokio::test]
async fn log_lines_repeat_no_member() {
    // The subscriber is global, so the test needs its own process.
    if !runs_alone("json_log::log_lines_repeat_no_member") {
        return;
    }
    let (nested, flat) = (Lines::default(), Lines::default());
    let (to_nested, to_flat) = (nested.clone(), flat.clone());
    let layers = vec![
        tracing_subscriber::fmt::layer().json().with_writer(move || to_nested.clone()).boxed(),
        tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_writer(move || to_flat.clone())
            .boxed(),
    ];
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layers)).unwrap();
    let adapter = Adapter::builder("log")
        .operation(get_square {})
        .operation(get_fault {})
        .operation(delete_everything {})
        .operation(run_export {})
        .without_config()
        .build()
        .unwrap();
    for (operation, params) in [
        ("get_square", json!({ "number": 3 })),
        ("get_square", json!({ "count": 3 })),
        ("get_fault", json!({})),
        ("delete_everything", json!({})),
        ("delete_everything", json!({ "_confirmation": "wrong" })),
        ("unknown", json!({})),
        ("introspect", json!({ "query": "operations" })),
    ] {
        adapter.call(operation, params).await;
    }
    for fails in [false, true] {
        let begun = adapter.call("run_export", json!({ "fails": fails })).await;
        let id = json!({ "execution_id": begun.data()["execution_id"] });
        let is_running = |state: &serde_json::Value| {
            ["pending", "running"].map(Into::into).contains(&state["status"])
        };
        while is_running(adapter.call("get_execution", id.clone()).await.data()) {
            tokio::task::yield_now().await;
        }
    }
    let malformed = adapter.handle(Endpoint::Unified, b"{\xff", CallScope::default()).await;
    assert!(malformed.code.is_some());
    adapter.end_sessions().await;
    let [nested, flat] =
        [nested, flat].map(|lines| String::from_utf8(lines.0.lock().unwrap().clone()).unwrap());
    for log in [nested, flat] {
        for text in
            ["operation succeeded", "operation failed", "execution ended", "execution failed"]
        {
            assert!(log.contains(text), "{text} in {log}");
        }
        assert_strict(&log);
        // A line of the audit log contains JSON in a field.
        for line in log.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let entry = line["fields"].get("entry").or(line.get("entry"));
            assert_strict(entry.and_then(|it| it.as_str()).unwrap_or("{}"));
        }
    }
}
