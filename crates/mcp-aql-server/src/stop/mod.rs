//! Waits for a signal to stop the process.

#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "without_signals.rs"]
mod signals;

use std::future::{Future, pending};
use std::io;

use futures_util::future::select_all;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::erased;
use tokio::sync::oneshot;

use crate::mcp::drain::Shutdown;

/// Waits for Ctrl-C, and for SIGTERM on Unix.
///
/// The signals are caught as soon as you call this function, not at the first poll. Therefore a signal that arrives in
/// between does not kill the process.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    let signals = select_all(signals::listen());
    async { drop(signals.await) }
}

/// Returns a shutdown that stops the server at Ctrl-C, and at SIGTERM on Unix. A second signal ends the wait for
/// running calls.
///
/// The signals are caught as soon as you call this function, as with [`shutdown_signal`].
pub fn on_signal() -> Shutdown {
    let (first, (sender, receiver)) = (shutdown_signal(), oneshot::channel());
    let begin = async {
        first.await;
        // Catch the second signal from now on, not from the first poll.
        let _ = sender.send(erased(shutdown_signal()));
    };
    let cut_off = async {
        match receiver.await {
            Ok(second) => second.await,
            Err(_) => pending().await,
        }
    };
    Shutdown::when(begin).at_once_when(cut_off)
}

/// Waits for a signal with its listener. If there is no listener, the signal kills the process, as it does by default.
fn received<L>(
    listener: io::Result<L>,
    receive: fn(L) -> BoxFuture<'static, ()>,
) -> BoxFuture<'static, ()> {
    match listener {
        Ok(listener) => receive(listener),
        Err(error) => {
            tracing::warn!(%error, "a signal to stop cannot be caught");
            erased(pending())
        }
    }
}
