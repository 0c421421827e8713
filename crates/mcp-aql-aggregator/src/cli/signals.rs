//! The Unix signals that end the command.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C or a termination signal. The call itself installs the handlers, not the first
/// poll, so that a signal during start-up also ends the servers.
pub(super) fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    let on_signal = |kind| {
        let heard = signal(kind);
        async move {
            match heard {
                Ok(mut signal) => {
                    signal.recv().await;
                }
                // Without a handler the signal keeps its default action.
                Err(_) => std::future::pending().await,
            }
        }
    };
    let interrupted = on_signal(SignalKind::interrupt());
    let terminated = on_signal(SignalKind::terminate());
    // Sent when the terminal is closed.
    let hung_up = on_signal(SignalKind::hangup());
    async move {
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
            () = hung_up => {}
        }
    }
}
