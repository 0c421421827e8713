//! Tests of agents that execute while the server stops.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::store::{Change, MemoryState, StateRecord, StateStore, StoreError};
use mcp_aql::transport::HttpSettings;
use mcp_aql::{BoxFuture, HttpOptions};
use serde_json::{Value, json};

use super::{hello, request, start};
use crate::support::adapter::builder;

/// A store with slow writes.
#[derive(Default)]
struct Slow(MemoryState);

impl StateStore for Slow {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        self.0.get(collection, key)
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        self.0.list(collection, group, after, most)
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(150)).await;
            self.0.write(changes).await
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.0.purge(now)
    }
}

#[tokio::test]
async fn executions_of_a_session_end_before_the_server_stops() {
    // REQ-LIF-10
    let store = Arc::<Slow>::default();
    let safety = SafetyLoop::new().channel(MemoryChannel::default());
    let builder = builder().safety_loop(safety).store(Arc::clone(&store));
    let server = start(builder, HttpOptions::new()).await;
    let client = server.connect().await;
    let arguments = json!({ "operation": "execute_agent", "params": { "element_name": "Ada" } });
    client.call_tool(request("mcp_aql_execute", &arguments)).await.unwrap();
    let status = || async {
        let record = store.get("safety_agents", "ada").await.unwrap().unwrap();
        let state: Value = serde_json::from_str(&record.value).unwrap();
        state["execution"]["status"].clone()
    };
    assert_eq!(status().await, "pending");
    server.stop.send(()).unwrap();
    server.done.await.unwrap().unwrap();
    assert_eq!(status().await, "cancelled");
}

#[tokio::test]
async fn a_session_with_an_agent_is_not_evicted() {
    // REQ-LIF-10, REQ-SES-02
    let safety = SafetyLoop::new().channel(MemoryChannel::default());
    let builder = builder().safety_loop(safety).store(MemoryState::default());
    let server = start(
        builder,
        HttpOptions::new().settings(HttpSettings { max_sessions: 1, ..HttpSettings::default() }),
    )
    .await;
    let session = server.session("2025-11-25").await;
    let headers = [("Mcp-Session-Id", &*session)];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_execute",
        "arguments": { "operation": "execute_agent", "params": { "element_name": "Ada" } } } });
    let (status, answer) = server.post(&headers, call.to_string()).await;
    assert!(status == 200 && answer.contains("success\\\":true"), "{answer}");
    assert_eq!(server.post(&[], hello()).await.0, 503);
    assert_eq!(server.send("DELETE", &headers, "").await.0, 202);
    assert_eq!(server.post(&[], hello()).await.0, 200);
}
