//! Agents that execute while the server stops.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::store::{Change, MemoryStore, Record, Store, StoreError};
use mcp_aql::{BoxFuture, HttpOptions};
use serde_json::{Value, json};

use super::{request, start};
use crate::support::adapter::builder;

/// A store with slow writes.
#[derive(Default)]
struct Slow(MemoryStore);

impl Store for Slow {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.0.get(collection, key)
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
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
