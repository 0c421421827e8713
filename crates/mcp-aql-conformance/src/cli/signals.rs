//! Waits for the signals that interrupt a run.

#[cfg(not(unix))]
use std::future::pending as terminated;

#[cfg(unix)]
use self::unix::terminated;

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn interrupted() {
    let by_hand = async {
        // Without signal handlers, wait forever: the default action of the system applies.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = by_hand => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{SignalKind, signal};

    /// Waits for SIGTERM.
    pub(super) async fn terminated() {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    }
}
