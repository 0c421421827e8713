//! The delay between the signal to stop and the rejection of calls.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use tokio_util::sync::CancellationToken;

/// How long calls are served after the last connection was accepted, so that requests already sent can arrive.
const SETTLE_PERIOD: Duration = Duration::from_millis(500);

/// The steps of a stopping server, in their order.
#[derive(Default)]
pub(super) struct StopDelay {
    /// Canceled when probes are answered with 503.
    pub(super) announced: CancellationToken,
    /// Canceled when each reply closes its connection. A proxy then keeps no connections to this process.
    closing: CancellationToken,
    /// Canceled when no more connections are accepted. A proxy then sends its requests to other processes.
    pub(super) refusing: CancellationToken,
}

impl StopDelay {
    /// Adds the layer that closes connections after their replies.
    pub(super) fn layer(&self, router: axum::Router) -> axum::Router {
        router.layer(from_fn_with_state(self.closing.clone(), close))
    }

    /// Announces the stop, and serves calls until the delay has passed.
    pub(super) async fn begin(&self, delay: Duration, cut_off: impl Future<Output = ()> + Clone) {
        self.announced.cancel();
        if delay.is_zero() {
            return;
        }
        self.closing.cancel();
        tracing::info!(?delay, "stopping: probes are answered with 503, and calls are served");
        // A second signal ends the delay.
        let _ = tokio::time::timeout(delay, cut_off.clone()).await;
        self.refusing.cancel();
        let _ = tokio::time::timeout(SETTLE_PERIOD, cut_off).await;
    }
}

async fn close(State(closing): State<CancellationToken>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if closing.is_cancelled() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
