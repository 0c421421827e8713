//! Waits for a person or the system to stop the process.

#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "without_signals.rs"]
mod signals;

use std::future::{Future, pending};
use std::io;

use futures_util::future::select_all;

use mcp_aql_core::future::{BoxFuture, erased};

/// Waits for Ctrl-C, or for SIGTERM where that exists.
///
/// The signals are caught from the call on, and not from the first poll: a signal that arrives in
/// between does not kill the process.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    let signals = select_all(signals::listen());
    async { drop(signals.await) }
}

/// Waits for a signal with its listener. Without a listener, the signal ends the process at once, as it
/// does by default.
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
