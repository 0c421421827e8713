//! Ctrl-C on Windows, instead of the signals of Unix.

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::erased;

use super::received;

/// Catches Ctrl-C.
pub(super) fn listen() -> [BoxFuture<'static, ()>; 1] {
    let listener = tokio::signal::windows::ctrl_c();
    [received(listener, |mut signal| {
        erased(async move { signal.recv().await.unwrap_or_default() })
    })]
}
