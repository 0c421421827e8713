//! Tests of the probes `/livez` and `/readyz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use mcp_aql::store::{Change, MemoryState, StateRecord, StateStore, StoreError};
use mcp_aql::transport::HttpSettings;
use mcp_aql::{Adapter, BoxFuture, HttpOptions};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::authentication::{reply, stateless};
use super::{Server, start};

/// The behavior of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Works,
    Fails,
    Hangs,
}

/// A store in memory that can fail or hang, and that counts its writes.
struct Unreliable {
    kept: MemoryState,
    mode: watch::Sender<Mode>,
    writes: AtomicUsize,
}

impl Unreliable {
    fn new() -> Arc<Self> {
        let mode = watch::Sender::new(Mode::Works);
        Arc::new(Self { kept: MemoryState::default(), mode, writes: AtomicUsize::new(0) })
    }

    fn reached<'a, T: Send + 'a>(
        &'a self,
        access: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            let mut mode = self.mode.subscribe();
            let mode = *mode.wait_for(|mode| *mode != Mode::Hangs).await.unwrap();
            match mode {
                Mode::Fails => Err(StoreError::failed("/var/lib/state.db: disk I/O error")),
                _ => access.await,
            }
        })
    }
}

impl StateStore for Unreliable {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        self.reached(self.kept.get(collection, key))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        self.reached(self.kept.list(collection, group, after, limit))
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.reached(self.kept.write(changes))
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.reached(self.kept.purge(now))
    }
}

/// Read the clock.
#[operation(category = "READ", rationale = "it computes and stores nothing")]
fn read_clock() -> u8 {
    12
}

async fn serve(store: &Arc<Unreliable>) -> Server {
    let builder = Adapter::builder("hall").operation(read_clock {}).store(Arc::clone(store));
    start(builder, HttpOptions::new()).await
}

impl Server {
    async fn probe(&self, target: &str, headers: &[(&str, &str)]) -> (u16, String) {
        self.send_in_pieces(target, headers, &[]).await
    }

    /// Sends probes until one has this status. Returns its answer.
    async fn probed(&self, expected: u16) -> String {
        let until = async {
            loop {
                let (status, answer) = self.probe("GET /readyz", &[]).await;
                if status == expected {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), until).await.unwrap()
    }
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[tokio::test]
async fn probes_are_answered_without_host_and_authentication() {
    let server = serve(&Unreliable::new()).await;
    for path in ["/livez", "/readyz"] {
        // The kubelet uses the IP address of the pod as the host.
        for host in ["10.1.2.3:8787", "tasks.example.org"] {
            let (status, answer) = server.probe(&format!("GET {path}"), &[("Host", host)]).await;
            assert_eq!(status, 200, "{answer}");
            assert_eq!(body(&answer), json!({ "status": "ok", "problems": [] }));
            assert!(answer.to_lowercase().contains("cache-control: no-store"), "{answer}");
        }
        let (status, answer) = server.probe(&format!("HEAD {path}"), &[]).await;
        assert!(status == 200 && answer.ends_with("\r\n\r\n"), "{answer}");
        assert_eq!(server.probe(&format!("POST {path}"), &[]).await.0, 405);
        let origin = [("Origin", "https://evil.example")];
        assert_eq!(server.probe(&format!("GET {path}"), &origin).await.0, 403);
    }
}

#[tokio::test]
async fn calls_are_served_for_a_while_after_the_signal_to_stop() {
    let builder = Adapter::builder("hall").operation(read_clock {});
    let options = HttpOptions::new().settings(HttpSettings {
        stop_delay: Duration::from_millis(1_500),
        ..HttpSettings::default()
    });
    let mut server = start(builder, options).await;
    let (headers, call) = stateless("mcp_aql_read", "read_clock", json!({}));
    let begun = tokio::time::Instant::now();
    let (unused, _) = tokio::sync::oneshot::channel();
    std::mem::replace(&mut server.stop, unused).send(()).unwrap();
    let answer = server.probed(503).await;
    assert_eq!(body(&answer)["problems"], json!(["the server is shutting down"]));
    let headers = [&headers[..], &[("Connection", "keep-alive")]].concat();
    let (status, answer) = server.post(&headers, call).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(reply(&answer)["data"], 12);
    // The header makes a proxy close the connection.
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    server.done.await.unwrap().unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(1_500));
    assert!(tokio::net::TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_store_that_fails_or_hangs_makes_the_server_unready_until_it_works() {
    let store = Unreliable::new();
    let server = serve(&store).await;
    server.probed(200).await;
    for (mode, problem) in [
        (Mode::Fails, "the store cannot be used: see the log"),
        (Mode::Hangs, "the store does not answer in time"),
    ] {
        store.mode.send_replace(mode);
        let answer = server.probed(503).await;
        let expected = json!({ "status": "unavailable", "problems": [problem] });
        assert_eq!(body(&answer), expected);
        assert_eq!(server.probe("GET /livez", &[]).await.0, 200);
        store.mode.send_replace(Mode::Works);
        server.probed(200).await;
    }
}

#[tokio::test]
async fn a_flood_of_probes_does_not_load_the_store() {
    let store = Unreliable::new();
    let server = serve(&store).await;
    server.probed(200).await;
    let before = store.writes.load(Ordering::SeqCst);
    store.mode.send_replace(Mode::Hangs);
    // From this point on, a check is running that never ends.
    server.probed(503).await;
    let probes = (0..50).map(|_| server.probe("GET /readyz", &[]));
    for (status, _) in futures_util::future::join_all(probes).await {
        assert_eq!(status, 503);
    }
    assert_eq!(store.writes.load(Ordering::SeqCst), before + 1, "all probes share one check");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_prevents_the_start() {
    let store = Unreliable::new();
    store.mode.send_replace(Mode::Hangs);
    let builder = Adapter::builder("hall").without_config().operation(read_clock {}).store(store);
    let adapter = builder.build().unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let served = adapter.serve_http(address, HttpOptions::new()).await;
    let refusal = served.unwrap_err().to_string();
    assert!(refusal.ends_with("cannot be used: it does not answer within 30 s"), "{refusal}");
    // A signal ends the wait.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    adapter.serve_listener(listener, HttpOptions::new(), async {}).await.unwrap();
}
