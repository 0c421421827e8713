//! Tests confirmations and background executions.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::mcp::Mcp;

const CREATE: &str = "mcp_aql_create";
const READ: &str = "mcp_aql_read";
const UPDATE: &str = "mcp_aql_update";
const DELETE: &str = "mcp_aql_delete";
const EXECUTE: &str = "mcp_aql_execute";

async fn start(folder: &tempfile::TempDir) -> Mcp {
    let db = folder.path().join("tasks.db");
    Mcp::start("tasks", &["--db", db.to_str().unwrap()], &[]).await
}

async fn add(client: &Mcp, tasks: usize) {
    for number in 1..=tasks {
        let params = json!({ "title": format!("Task, \"{number}\"") });
        client.data(CREATE, "create_task", params).await;
    }
}

#[tokio::test]
async fn a_task_is_deleted_after_confirmation_alone() {
    // REQ-DNG-03, REQ-TOK-06, REQ-TOK-10, REQ-GATE-07
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder).await;
    add(&client, 2).await;
    let id = json!({ "task_id": "t-1" });
    let (reply, is_error) = client.call_once(DELETE, "delete_task", id.clone()).await;
    assert_eq!((&reply["error"]["code"], is_error), (&json!("CONFIRMATION_REQUIRED"), false));
    let details = &reply["error"]["details"];
    assert_eq!(details["confirmation_message"], "Delete task 't-1', \"Task, \"1\"\"?");
    assert_eq!(details["reasons"], json!(["The task and its links are removed"]));
    client.data(READ, "get_task", id.clone()).await;

    // Change the task, so that the confirmation no longer matches it.
    let change = json!({ "task_id": "t-1", "input": { "title": "Keep this" } });
    client.data(UPDATE, "update_task", change).await;
    let stale = json!({ "task_id": "t-1", "_confirmation": details["confirmation_token"] });
    let (reply, _) = client.call_once(DELETE, "delete_task", stale).await;
    let details = &reply["error"]["details"];
    assert_eq!(details["state_changed"], true, "{reply}");
    assert_eq!(details["confirmation_message"], "Delete task 't-1', \"Keep this\"?");

    let token = &details["confirmation_token"];
    let other = json!({ "task_id": "t-2", "_confirmation": token });
    let (reply, _) = client.call_once(DELETE, "delete_task", other).await;
    assert_eq!(reply["error"]["code"], "TOKEN_SCOPE_MISMATCH");
    let confirmed = json!({ "task_id": "t-1", "_confirmation": token });
    let (reply, _) = client.call_once(DELETE, "delete_task", confirmed.clone()).await;
    assert_eq!(reply["data"]["deleted"]["task_id"], "t-1", "{reply}");
    let (reply, _) = client.call_once(DELETE, "delete_task", confirmed).await;
    // Report the used token rather than the missing task.
    assert_eq!(reply["error"]["code"], "TOKEN_ALREADY_USED");
    client.data(READ, "get_task", json!({ "task_id": "t-2" })).await;
    client.close().await;
}

#[tokio::test]
async fn all_done_tasks_are_deleted_after_confirmation() {
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder).await;
    add(&client, 3).await;
    for id in ["t-1", "t-3"] {
        let change = json!({ "task_id": id, "input": { "status": "done" } });
        client.data(UPDATE, "update_task", change).await;
    }
    let link = json!({ "task_id": "t-1", "target_id": "t-2", "relationship": "references" });
    client.data(CREATE, "link_tasks", link).await;
    let (reply, _) = client.call_once(DELETE, "delete_done_tasks", json!({})).await;
    assert_eq!(reply["error"]["details"]["danger_level"], "dangerous");
    let deleted = client.data(DELETE, "delete_done_tasks", json!({})).await;
    assert_eq!(deleted["deleted_many"]["deleted"], 2, "{deleted}");
    let left = client.data(READ, "list_tasks", json!({})).await;
    assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
    client.close().await;
}

/// Waits for the end of an execution and returns its state.
async fn ended(client: &Mcp, id: &Value) -> Value {
    let params = json!({ "execution_id": id, "wait_seconds": 30 });
    client.data(READ, "get_execution", params).await
}

#[tokio::test]
async fn an_export_runs_in_the_background() {
    // REQ-LIF-01, REQ-LIF-04, REQ-LIF-06
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder).await;
    add(&client, 150).await;
    let begun = client.data(EXECUTE, "execute_export", json!({ "format": "csv" })).await;
    let state = ended(&client, &begun["execution_id"]).await;
    assert_eq!(state["status"], "completed", "{state}");
    assert_eq!(state["progress"]["current"], 150.0, "{state}");
    let export = &state["result"];
    let export = export.get("export").unwrap_or(export);
    assert_eq!(export["tasks"], 150, "{state}");
    let content = export["content"].as_str().unwrap();
    assert_eq!(content.lines().count(), 151);
    assert!(content.lines().nth(1).unwrap().starts_with("t-1,\"Task, \"\"1\"\"\","), "{content}");
    client.close().await;
}

#[tokio::test]
async fn progress_is_sent_on_request() {
    // REQ-MCP-13, REQ-MCP-15
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder).await;
    add(&client, 10).await;
    // rmcp's client sends a progress token with every request.
    let handle = client.begin(EXECUTE, "execute_export", json!({ "format": "json" })).await;
    tokio::time::timeout(Duration::from_secs(30), handle.await_response()).await.unwrap().unwrap();
    let told = client.progress();
    assert!(told.iter().any(|report| report.progress > 0.0), "{told:?}");
    client.close().await;
}

#[tokio::test]
async fn ended_executions_cannot_be_cancelled_and_their_results_persist() {
    // REQ-LIF-02, REQ-LIF-03
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder).await;
    add(&client, 1).await;
    let begun = client.data(EXECUTE, "execute_export", json!({ "format": "json" })).await;
    let id = json!({ "execution_id": begun["execution_id"] });
    assert_eq!(ended(&client, &begun["execution_id"]).await["status"], "completed");
    let error = client.error(EXECUTE, "cancel_execution", id.clone()).await;
    assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
    let error = client.error(EXECUTE, "retry_execution", id.clone()).await;
    assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
    client.close().await;
    let client = start(&folder).await;
    let state = client.data(READ, "get_execution", id).await;
    assert_eq!(state["status"], "completed");
    client.close().await;
}

/// Copies the only task in the file.
fn multiply(folder: &tempfile::TempDir, times: u32) {
    let db = rusqlite::Connection::open(folder.path().join("tasks.db")).unwrap();
    let columns = "title, description, status, priority, tags, metadata, due_date, created_at, \
                   updated_at, version, title_words, description_words, tags_words";
    let insert = format!(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {times})
         INSERT INTO task ({columns}) SELECT {columns} FROM task, n WHERE number = 1"
    );
    db.execute(&insert, []).unwrap();
}

#[tokio::test]
async fn an_export_can_be_cancelled() {
    // REQ-LIF-02, REQ-LIF-03
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder).await;
    add(&client, 1).await;
    multiply(&folder, 100_000);
    // rmcp's client always requests progress, so this call waits for the execution.
    let waiting = client.begin(EXECUTE, "execute_export", json!({ "format": "json" })).await;
    let begun = loop {
        let list = client.data(READ, "list_executions", json!({ "status": "running" })).await;
        if let Some(begun) = list["items"].get(0) {
            break begun.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let id = json!({ "execution_id": begun["execution_id"] });
    let state = client.data(EXECUTE, "cancel_execution", id.clone()).await;
    assert_eq!(state["status"], "cancelled", "{state}");
    let again = client.data(READ, "get_execution", id).await;
    assert_eq!(again["status"], "cancelled", "{again}");
    assert!(again.get("result").is_none(), "{again}");
    tokio::time::timeout(Duration::from_secs(30), waiting.await_response()).await.unwrap().unwrap();
    client.close().await;
}
