//! Tests of executions on the command line and over HTTP.

use std::time::{Duration, Instant};

use mcp_aql::prelude::*;
use mcp_aql::table::{Call, LifecycleSpec, OperationEntry, OperationSpec, Outcome};
use mcp_aql::{AdapterBuilder, BoxFuture, ExecutionOptions, Operations, SemanticCategory};
#[cfg(feature = "http")]
use serde_json::json;

use crate::own_process::runs_alone;

struct Works;

fn nap(_: &Works, call: Call) -> BoxFuture<'_, Outcome> {
    Box::pin(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        call.reply("rested")
    })
}

fn fail(_: &Works, _: Call) -> BoxFuture<'_, Outcome> {
    Box::pin(async { Err(OperationError::not_found("bed", "b-1")) })
}

fn sleep(_: &Works, _: Call) -> BoxFuture<'_, Outcome> {
    Box::pin(std::future::pending())
}

const fn spec(name: &'static str) -> OperationSpec {
    OperationSpec::new(name, SemanticCategory::Execute, "Take its time.")
        .lifecycle(LifecycleSpec::new(true, false, false))
}

impl Operations for Works {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[
        OperationEntry::new(spec("execute_nap"), nap),
        OperationEntry::new(spec("execute_failure"), fail),
        OperationEntry::new(spec("execute_sleep"), sleep),
    ];
}

fn builder() -> AdapterBuilder {
    let options = ExecutionOptions::new().grace(Duration::from_millis(100));
    Adapter::builder("works").operations(Works).executions(options).without_config()
}

#[tokio::test]
async fn the_command_line_waits_for_the_end() {
    // REQ-LIF-04, REQ-LIF-05

    // The command line sets the subscriber and the signal handlers of its process, so the test needs its own process.
    if !runs_alone("executions::the_command_line_waits_for_the_end") {
        return;
    }
    for (operation, least, code) in [("execute_nap", 300, 0), ("execute_failure", 0, 1)] {
        let begun = Instant::now();
        let ended =
            builder().build().unwrap().run_with_args(["works", "call", operation]).await.unwrap();
        assert_eq!(ended, std::process::ExitCode::from(code), "{operation}");
        assert!(begun.elapsed() >= Duration::from_millis(least), "{operation}");
    }
}

#[cfg(feature = "http")]
#[tokio::test]
async fn a_server_that_stops_leaves_nothing_running() {
    // REQ-LIF-10
    let adapter = builder().drain_timeout(Duration::ZERO).build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn({
        let adapter = adapter.clone();
        async move {
            let stop = async move {
                let _ = stopped.await;
            };
            adapter.serve_listener(listener, mcp_aql::HttpOptions::new(), stop).await
        }
    });
    let begun = adapter.call("execute_sleep", json!({})).await;
    let id = json!({ "execution_id": begun.data()["execution_id"] });
    assert_eq!(adapter.call("get_execution", id.clone()).await.data()["status"], "running");
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    assert_eq!(adapter.call("get_execution", id).await.data()["status"], "cancelled");
}
