//! Probes for load balancers and supervisors: liveness and readiness of the process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::FutureExt as _;
use futures_util::future::Shared;
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::{erased, lock};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::server::ServerState;

/// Liveness path. Answered with 200 while the process runs.
const LIVE_PATH: &str = "/livez";
/// Readiness path. Answered with 200 while the server can serve calls.
const READY_PATH: &str = "/readyz";
/// Minimum time between the starts of two checks of the store. Probes in between share the last check.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a probe waits for a check. A longer check continues, and the next probe shares it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Determines whether the server can serve calls.
struct Readiness {
    server: Arc<ServerState>,
    /// Canceled when the server is about to stop.
    leaving: CancellationToken,
    check: Mutex<Option<StoreCheck>>,
}

/// A running or finished check of the store.
struct StoreCheck {
    begun: Instant,
    is_usable: Shared<BoxFuture<'static, bool>>,
}

/// Builds the routes of the probes. They reveal only the state of the server. They need no authentication and accept
/// every host, because a probe may address the process by its IP address.
pub(super) fn routes(server: Arc<ServerState>, leaving: CancellationToken) -> Router {
    let readiness = Arc::new(Readiness { server, leaving, check: Mutex::default() });
    let live = |headers: HeaderMap| async move { respond(&headers, &[]) };
    let ready = |headers: HeaderMap| async move { respond(&headers, &readiness.problems().await) };
    Router::new().route(LIVE_PATH, get(live)).route(READY_PATH, get(ready))
}

impl Readiness {
    /// Returns the reasons why the server cannot serve calls. Empty if it is ready.
    async fn problems(&self) -> Vec<&'static str> {
        if self.leaving.is_cancelled() {
            return vec!["the server is shutting down"];
        }
        match tokio::time::timeout(CHECK_TIMEOUT, self.check_store()).await {
            Ok(true) => Vec::new(),
            Ok(false) => vec!["the store cannot be used: see the log"],
            Err(_) => {
                tracing::warn!("the store takes too long to answer: the server is not ready");
                vec!["the store does not answer in time"]
            }
        }
    }

    /// Returns the running or most recent check, or starts a new one. The check runs in a separate task. Therefore no
    /// access to the store is canceled, and at most one check runs at a time, regardless of the number of probes.
    fn check_store(&self) -> Shared<BoxFuture<'static, bool>> {
        let mut check = lock(&self.check);
        let is_current = |check: &&StoreCheck| {
            check.is_usable.peek().is_none() || check.begun.elapsed() < CHECK_INTERVAL
        };
        if let Some(current) = check.as_ref().filter(is_current) {
            return current.is_usable.clone();
        }
        let adapter = self.server.service().adapter().cloned();
        let task = tokio::spawn(erased(async move {
            match adapter {
                Some(adapter) => adapter.check_store().await.is_ok(),
                None => true,
            }
        }));
        let is_usable = erased(async { task.await.unwrap_or(false) }).shared();
        *check = Some(StoreCheck { begun: Instant::now(), is_usable: is_usable.clone() });
        is_usable
    }
}

/// Responds to a probe. Requests from web pages are rejected. They can be recognized because probes send no `Origin`.
///
/// ```json
/// { "status": "unavailable", "problems": ["the server is shutting down"] }
/// ```
fn respond(headers: &HeaderMap, problems: &[&str]) -> Response {
    if headers.contains_key(ORIGIN) {
        return (StatusCode::FORBIDDEN, "Probes send no header Origin\n").into_response();
    }
    let (status, text) = match problems {
        [] => (StatusCode::OK, "ok"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    let body = json!({ "status": text, "problems": problems }).to_string();
    (status, [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], body)
        .into_response()
}
