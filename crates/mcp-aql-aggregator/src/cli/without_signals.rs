//! Waits for the end of the command on systems without Unix signals.

/// Waits for Ctrl-C.
pub(super) fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
