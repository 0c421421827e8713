//! Stand-in for SIGHUP on systems without it.

use mcp_aql_core::Adapter;

/// Runs `work`. The audit log is never reopened.
pub(super) async fn reopening_audit_log<T>(_: &Adapter, work: impl Future<Output = T>) -> T {
    work.await
}
