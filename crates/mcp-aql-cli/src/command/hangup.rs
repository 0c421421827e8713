//! Reopens the audit log at SIGHUP. Other systems than Unix have no such signal.

pub(super) use self::system::reopening_audit_log;

#[cfg(unix)]
mod system {
    use mcp_aql_core::Adapter;
    use tokio::signal::unix::{SignalKind, signal};

    /// Runs `work`, and reopens the audit log at each SIGHUP until `work` ends.
    ///
    /// Without a file for the audit log, SIGHUP keeps its default effect and ends the process.
    pub(in crate::command) async fn reopening_audit_log<T>(
        adapter: &Adapter,
        work: impl Future<Output = T>,
    ) -> T {
        if adapter.settings().audit_log.is_none() {
            return work.await;
        }
        let mut hangups = match signal(SignalKind::hangup()) {
            Ok(hangups) => hangups,
            Err(error) => {
                tracing::warn!(%error, "cannot handle SIGHUP, so the audit log will not be reopened");
                return work.await;
            }
        };
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                Some(()) = hangups.recv() => {
                    tracing::info!("received SIGHUP, reopening the audit log");
                    adapter.reopen_audit_log();
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod system {
    use mcp_aql_core::Adapter;

    /// Runs `work`. The audit log is never reopened.
    pub(in crate::command) async fn reopening_audit_log<T>(
        _: &Adapter,
        work: impl Future<Output = T>,
    ) -> T {
        work.await
    }
}
