//! The paths for probes of a load balancer or a supervisor: whether the process runs, and whether it can serve calls.

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

use crate::server::ServerState;

/// The path that is answered as long as the process runs.
const LIVE_PATH: &str = "/livez";
/// The path that is answered with 200 as long as the server can serve calls.
const READY_PATH: &str = "/readyz";
/// The minimum time between the begins of two checks of the store. Probes in between share the last check.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a probe waits for a check. A check that takes longer continues, and the next probe shares it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Determines whether the server can serve calls.
struct Readiness {
    server: Arc<ServerState>,
    /// Cancelled when the server will stop.
    leaving: CancellationToken,
    check: Mutex<Option<StoreCheck>>,
}

/// A check of the store, which is finished or running.
struct StoreCheck {
    begun: Instant,
    is_usable: Shared<BoxFuture<'static, bool>>,
}

/// Builds the routes of the probes. They need no authentication and accept every host, because a probe may address the
/// process by its IP address. They reveal nothing but the state.
pub(super) fn routes(server: Arc<ServerState>, leaving: CancellationToken) -> Router {
    let readiness = Arc::new(Readiness { server, leaving, check: Mutex::default() });
    let live = |headers: HeaderMap| async move { respond(&headers, &[]) };
    let ready = |headers: HeaderMap| async move { respond(&headers, &readiness.problems().await) };
    Router::new().route(LIVE_PATH, get(live)).route(READY_PATH, get(ready))
}

impl Readiness {
    /// Returns the reasons why the server cannot serve calls.
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

    /// Returns the check that runs, or that began recently, or starts one. It runs in a task of its own, so that no
    /// access is cancelled and at most one check is running, however many probes arrive.
    fn check_store(&self) -> Shared<BoxFuture<'static, bool>> {
        let mut check = lock(&self.check);
        let is_current = |check: &&StoreCheck| {
            check.is_usable.peek().is_none() || check.begun.elapsed() < CHECK_INTERVAL
        };
        if let Some(current) = check.as_ref().filter(is_current) {
            return current.is_usable.clone();
        }
        let task = tokio::spawn(self.server.service().is_store_usable());
        let is_usable = erased(async { task.await.unwrap_or(false) }).shared();
        *check = Some(StoreCheck { begun: Instant::now(), is_usable: is_usable.clone() });
        is_usable
    }
}

/// Responds to a probe. Pages of a browser are refused: probes send no `Origin`.
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
