//! The HTTP server of the metrics page.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use mcp_aql_core::Result;
use prometheus_client::encoding::prometheus_text;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::Metrics;

/// Path of the page.
const PATH: &str = "/metrics";
/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 16;
/// Time limit for a scraper to send a request and to read the page.
const SCRAPER_TIMEOUT: Duration = Duration::from_secs(30);

impl Metrics {
    /// Serves the page at `/metrics` until `stop` completes.
    ///
    /// On a loopback address, requests must have this machine's name in `Host`. Otherwise, a website could point its
    /// own domain at the loopback address and read the page from a browser (DNS rebinding).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`](mcp_aql_core::Error::Io) if the listener has no local address.
    ///
    /// ```no_run
    /// use mcp_aql::observe::Metrics;
    /// # use mcp_aql::Adapter;
    ///
    /// # async fn serve(adapter: Adapter) -> mcp_aql::Result<()> {
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:9464").await?;
    /// Metrics::of(&adapter)?.serve(listener, std::future::pending()).await
    /// # }
    /// ```
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<()> {
        let is_local = listener.local_addr()?.ip().is_loopback();
        let page = Page { metrics: Arc::new(self), is_local };
        let router = Router::new().route(PATH, get(answer)).with_state(page);
        let stopped = CancellationToken::new();
        // Also stop the listener if this future is dropped.
        let _stop = stopped.clone().drop_guard();
        let bounds = (MAX_CONNECTIONS, SCRAPER_TIMEOUT);
        let serving = mcp_aql_server::serve_connections(listener, router, bounds, stopped.clone());
        tokio::join!(serving, async {
            stop.await;
            stopped.cancel();
        });
        Ok(())
    }
}

#[derive(Clone)]
struct Page {
    metrics: Arc<Metrics>,
    is_local: bool,
}

async fn answer(State(page): State<Page>, headers: HeaderMap) -> Response {
    if page.is_local && !names_this_machine(&headers) {
        let problem = "Forbidden: the page is only for requests to this machine\n";
        return (StatusCode::FORBIDDEN, problem).into_response();
    }
    let fields = [(CONTENT_TYPE, prometheus_text::CONTENT_TYPE), (CACHE_CONTROL, "no-store")];
    (fields, page.metrics.page().await).into_response()
}

/// Returns `true` if the header `Host` names the loopback interface.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|known| name.eq_ignore_ascii_case(known))
}
