//! SIGHUP, at which the audit log is opened again.

use mcp_aql_core::Adapter;
use tokio::signal::unix::{SignalKind, signal};

/// Does some work, and opens the audit log again at each SIGHUP until the work is done. If the audit log has no file,
/// the signal ends the process, as it does by default.
pub(super) async fn reopening_audit_log<T>(adapter: &Adapter, work: impl Future<Output = T>) -> T {
    if adapter.settings().audit_log.is_none() {
        return work.await;
    }
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => {
            tracing::warn!(%error, "SIGHUP cannot be caught");
            return work.await;
        }
    };
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(()) = hangups.recv() => {
                tracing::info!("SIGHUP: opening the audit log again");
                adapter.reopen_audit_log();
            }
        }
    }
}
