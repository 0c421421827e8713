//! Checks that a collector receives the traces of both processes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use serde_json::json;

use crate::service::{ALL_SCOPES, Data, eventually};

/// The requests that the collector received. In OTLP over HTTP, strings appear unchanged in the bytes of the body.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<Bytes>>>);

impl Received {
    /// Starts a collector.
    async fn start() -> (Self, String) {
        let received = Self::default();
        let keep = |State(received): State<Self>, body: Bytes| async move {
            received.0.lock().unwrap().push(body);
        };
        let router = Router::new().route("/v1/traces", post(keep)).with_state(received.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (received, url)
    }

    fn contains(&self, part: &[u8]) -> bool {
        let has = |body: &Bytes| body.windows(part.len()).any(|window| window == part);
        self.0.lock().unwrap().iter().any(has)
    }

    /// Waits until each of these byte strings was received.
    async fn arrive(&self, parts: &[&[u8]]) {
        let all = async {
            while !parts.iter().all(|part| self.contains(part)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        eventually(all).await;
    }
}

#[tokio::test]
async fn traces_of_both_processes_arrive() {
    let (received, url) = Received::start().await;
    let data = Data::in_sqlite();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*url), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
    let servers = [data.start_with(&variables).await, data.start_with(&variables).await];
    let token = data.token("acme", "ada", ALL_SCOPES);
    let [ada, elsewhere] = servers.each_ref().map(|server| server.caller(&token));

    let created = ada.data("create_project", json!({ "name": "Website" })).await;
    let id = created["project"]["project_id"].clone();
    received.arrive(&[b"tools/call create_project", b"service.name", b"team"]).await;
    elsewhere.data("get_project", json!({ "project_id": id })).await;
    let execution = elsewhere.data("export_tickets", json!({})).await;
    let execution = execution["execution_id"].as_str().unwrap();
    let spans: [&[u8]; 3] =
        [b"tools/call get_project", b"execute_tool export_tickets", execution.as_bytes()];
    received.arrive(&spans).await;
    // Traces contain neither parameter values nor identities.
    for secret in ["Website", "acme", "login.team.example", &token, id.as_str().unwrap()] {
        assert!(!received.contains(secret.as_bytes()), "{secret}");
    }
}
