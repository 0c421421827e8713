//! Tests that serving ends only when all pending work of ended sessions is complete.

use std::io;
use std::sync::{Arc, Mutex};

use mcp_aql::BoxFuture;
use mcp_aql::audit::AuditSink;
use mcp_aql::prelude::*;
use mcp_aql::store::{MemoryState, StateStore as _};
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Removes a bed.
#[operation(category = "DELETE")]
fn delete_bed(
    /// The bed.
    bed_id: u32,
) -> u32 {
    bed_id
}

/// A slow audit log.
#[derive(Default)]
struct SlowLog(Mutex<Vec<Value>>);

impl AuditSink for SlowLog {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            self.0.lock().unwrap().push(serde_json::from_str(line).unwrap());
            Ok(())
        })
    }
}

impl SlowLog {
    fn count(&self, event: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|line| line["event"] == event).count()
    }
}

struct Garden {
    adapter: Adapter,
    store: Arc<MemoryState>,
    log: Arc<SlowLog>,
}

impl Garden {
    fn new() -> Self {
        let (store, log) = (Arc::new(MemoryState::default()), Arc::new(SlowLog::default()));
        let builder = Adapter::builder("garden").operation(delete_bed {}).without_config();
        let builder = builder.store(Arc::clone(&store)).audit_sink(Arc::clone(&log));
        Self { adapter: builder.build().unwrap(), store, log }
    }

    async fn tokens_in_store(&self) -> usize {
        self.store.list("confirmation_tokens", None, None, 100).await.unwrap().len()
    }
}

fn deletion(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "mcp_aql_delete",
        "arguments": { "operation": "delete_bed", "params": { "bed_id": id } } } })
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[tokio::test]
async fn the_end_of_input_revokes_every_token_before_serving_ends() {
    // REQ-SES-02, REQ-TOK-12, REQ-TOK-16
    let garden = Garden::new();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let serving = garden.adapter.serve(theirs);
    let client = async {
        let (read, mut write) = tokio::io::split(ours);
        let mut lines = BufReader::new(read).lines();
        write.write_all(format!("{HELLO}\n").as_bytes()).await.unwrap();
        for id in 1..=60 {
            write.write_all(format!("{}\n", deletion(id)).as_bytes()).await.unwrap();
        }
        for _ in 0..=60 {
            lines.next_line().await.unwrap().unwrap();
        }
        assert_eq!((garden.log.count("TOKEN_ISSUED"), garden.tokens_in_store().await), (60, 60));
        write.shutdown().await.unwrap();
        while lines.next_line().await.unwrap().is_some() {}
    };
    let (served, ()) = tokio::join!(serving, client);
    served.unwrap();
    assert_eq!((garden.log.count("TOKEN_REVOKED"), garden.tokens_in_store().await), (60, 0));
}

#[tokio::test]
async fn an_embedded_adapter_ends_its_sessions_on_request() {
    // REQ-SES-02, REQ-TOK-12
    let garden = Garden::new();
    let session = Session::new();
    for id in 1..=3 {
        let arguments = deletion(id)["params"]["arguments"].as_object().cloned().unwrap();
        let scope = CallScope { session: Some(session.clone()), ..CallScope::default() };
        garden.adapter.handle(Endpoint::Unified, arguments, scope).await;
    }
    assert_eq!(garden.tokens_in_store().await, 3);
    garden.adapter.end_sessions().await;
    assert!(session.has_ended());
    assert_eq!((garden.log.count("TOKEN_REVOKED"), garden.tokens_in_store().await), (3, 0));
}
