//! Signals on Unix.

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::erased;
use tokio::signal::unix::{SignalKind, signal};

use super::received;

/// Catches SIGINT (sent by Ctrl-C) and SIGTERM.
pub(super) fn listen() -> [BoxFuture<'static, ()>; 2] {
    [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| {
        received(signal(kind), |mut signal| {
            erased(async move { signal.recv().await.unwrap_or_default() })
        })
    })
}
