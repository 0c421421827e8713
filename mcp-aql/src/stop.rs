//! When a person or the system wants the process to stop.

use std::future::Future;

/// Waits for Ctrl-C, or for SIGTERM where that exists.
///
/// The signals are caught from the call on, and not from the first poll: a signal that arrives in
/// between does not kill the process.
pub(crate) fn told_to_stop() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    let (mut interrupt, mut terminate) = {
        use tokio::signal::unix::{SignalKind, signal};

        (caught(signal(SignalKind::interrupt())), caught(signal(SignalKind::terminate())))
    };
    #[cfg(not(unix))]
    let mut interrupt = caught(tokio::signal::windows::ctrl_c());
    async move {
        let interrupted = async {
            match &mut interrupt {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        #[cfg(unix)]
        let terminated = async {
            match &mut terminate {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        #[cfg(not(unix))]
        let terminated = std::future::pending();
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
}

/// The signal's listener. Without it the signal ends the process at once, as it does by default.
fn caught<T>(listener: std::io::Result<T>) -> Option<T> {
    listener.inspect_err(|error| tracing::warn!(%error, "a signal to stop cannot be caught")).ok()
}
