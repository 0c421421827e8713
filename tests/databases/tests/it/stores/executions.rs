//! Tests that every store limits the results of executions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_aql::prelude::*;
use mcp_aql::store::StateStore;
use mcp_aql::{Adapter, ExecutionOptions};
use serde_json::{Value, json};

use super::fixture::StoreFixture;

/// Repeat a text.
#[operation(category = "EXECUTE", lifecycle(retry))]
async fn execute_echo(
    execution: ExecutionContext,
    /// The text.
    text: String,
    /// If `true`, the first attempt fails.
    fails: bool,
) -> Result<String, OperationError> {
    if fails && execution.attempt() == 1 {
        return Err(OperationError::not_found("echo", "e-1"));
    }
    Ok(text)
}

/// The smallest budget, in bytes.
const BUDGET: u64 = 1 << 20;
/// Size of a result, in bytes. Four of them exceed the budget.
const RESULT: usize = 300_000;

fn process(fixture: &StoreFixture) -> (Adapter, Arc<dyn StateStore>) {
    let options = ExecutionOptions::new().keep_bytes_per_caller(BUDGET);
    let store = fixture.store();
    let builder = Adapter::builder("echo").operation(execute_echo {}).executions(options);
    (builder.store(Arc::clone(&store)).without_config().build().unwrap(), store)
}

/// Calls an operation and returns the data of the reply.
async fn call(adapter: &Adapter, operation: &str, params: Value) -> Value {
    adapter.call(operation, params).await.data().clone()
}

/// Runs an execution to its end and returns its id.
async fn run(adapter: &Adapter, fails: bool) -> String {
    let params = json!({ "text": "x".repeat(RESULT), "fails": fails });
    let begun = call(adapter, "execute_echo", params).await;
    let id = begun["execution_id"].as_str().unwrap().to_owned();
    let ended = call(adapter, "get_execution", json!({ "execution_id": id, "wait_seconds": 30 }));
    let status = if fails { "failed" } else { "completed" };
    assert_eq!(ended.await["status"], status);
    id
}

/// Returns the total size of all outputs, in bytes.
async fn stored(store: &dyn StateStore) -> u64 {
    let outputs = store.list("execution_outputs", None, None, 99).await.unwrap();
    outputs.iter().map(|output| output.value.len() as u64).sum()
}

pub(crate) async fn results_stay_within_their_budget(fixture: &StoreFixture) {
    // REQ-LIF-04
    let processes = [process(fixture), process(fixture)];
    let store = &processes[0].1;
    let mut ids = Vec::new();
    for number in 0..9 {
        // Every third execution fails and keeps its parameters for a retry.
        ids.push(run(&processes[number % 2].0, number % 3 == 2).await);
        // Wait until the process that wrote the last output has counted all outputs.
        let begun = Instant::now();
        while stored(&**store).await > BUDGET {
            assert!(begun.elapsed() < Duration::from_secs(20), "{}", stored(&**store).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    for (adapter, store) in &processes {
        let state =
            async |id: &str| call(adapter, "get_execution", json!({ "execution_id": id })).await;
        let (oldest, newest) = (state(&ids[0]).await, state(&ids[7]).await);
        assert_eq!(newest["result"].as_str().unwrap().len(), RESULT);
        assert!(newest.get("result_dropped").is_none(), "it is kept");
        assert_eq!((oldest.get("result"), &oldest["result_dropped"]), (None, &json!(true)));
        // A list does not read the outputs, but must show the same state.
        let listed = call(adapter, "list_executions", json!({})).await;
        let listed = listed["items"].as_array().unwrap();
        assert_eq!(listed.len(), ids.len());
        let dropped = listed.iter().filter(|it| it["result_dropped"] == true).count();
        assert_eq!(dropped, 4, "of six that completed, two are among the newest three");
        let records = store.list("executions", None, None, 99).await.unwrap();
        assert!(records.iter().all(|record| record.value.len() < 2_000), "{records:?}");
        // The parameters of failed executions count like results.
        let retry = adapter.call("retry_execution", json!({ "execution_id": ids[2] })).await;
        let message = &retry.error().unwrap().message;
        assert!(message.contains("parameters are no longer stored"), "{message}");
    }
    call(&processes[1].0, "retry_execution", json!({ "execution_id": ids[8] })).await;
    let wait = json!({ "execution_id": ids[8], "wait_seconds": 30 });
    let retried = call(&processes[0].0, "get_execution", wait).await;
    assert_eq!(retried["result"].as_str().unwrap().len(), RESULT);
}
