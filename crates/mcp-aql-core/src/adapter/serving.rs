//! The start and the end of serving clients.

use std::any::Any;
use std::time::Duration;

use super::Adapter;
use crate::caller::session::Session;
use crate::error::main_error::{Error, Result};
use crate::execution::EndScope;
use crate::store::StoreError;

impl Adapter {
    /// Whether the adapter has operations that run as executions.
    pub(crate) fn has_executions(&self) -> bool {
        self.operations().any(|spec| spec.lifecycle.is_some())
    }

    /// Called when serving begins: logs the notices of the settings, begins the work of extensions, and ends
    /// executions of an earlier process that crashed.
    #[doc(hidden)]
    pub fn begin_to_serve(&self) {
        self.log_notices();
        for service in &self.inner.services {
            service.begin();
        }
        if self.has_executions() {
            self.inner.pipeline.executions.recover();
        }
    }

    /// Checks that the adapter's store can be read and written: the record of a check is written and read. A store
    /// in memory needs no check.
    ///
    /// The serving functions check the store when they start, and the path `/readyz` checks it for probes. Call it
    /// yourself if you embed `Adapter::router`, to refuse to start with a store that cannot be used.
    ///
    /// ```
    /// # use mcp_aql::Adapter;
    /// # async fn start(adapter: Adapter) -> mcp_aql::Result<()> {
    /// adapter.check_store().await.map_err(mcp_aql::Error::other)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The store cannot be opened, read or written, or has a layout or content of another program or version. The
    /// text is for the log, not for clients.
    pub async fn check_store(&self) -> Result<(), StoreError> {
        self.inner.pipeline.services.check_store().await
    }

    /// Checks the store, and starts what extensions run beside the adapter, such as the operator console. Dropping the
    /// returned values stops it.
    #[doc(hidden)]
    pub async fn start_services(&self) -> Result<Vec<Box<dyn Any + Send>>> {
        self.inner.pipeline.services.start_store().await.map_err(|error| {
            Error::other(format!(
                "the adapter cannot start, because its store cannot be used: {}",
                error.cause()
            ))
        })?;
        let mut running = Vec::new();
        for service in &self.inner.services {
            running.extend(service.start().await?);
        }
        Ok(running)
    }

    /// How long a server waits at its end for running calls, see
    /// [`AdapterBuilder::drain_timeout`](super::AdapterBuilder::drain_timeout).
    #[doc(hidden)]
    pub fn drain_timeout(&self) -> Duration {
        self.drain_timeout
    }

    /// Returns a clone whose servers wait for this long at their end, in place of the time that the builder and the
    /// configuration set.
    #[doc(hidden)]
    #[must_use]
    pub fn with_drain_timeout(&self, timeout: Duration) -> Self {
        Self { drain_timeout: timeout, ..self.clone() }
    }

    /// Waits until this process runs no execution.
    #[doc(hidden)]
    pub async fn executions_ended(&self) {
        self.inner.pipeline.executions.all_ended().await;
    }

    /// Logs the executions that run, because the server no longer waits for them.
    #[doc(hidden)]
    pub fn log_cut_off_executions(&self) {
        self.inner.pipeline.executions.log_cut_off();
    }

    /// Opens the file of the audit log again, and calls [`AuditSink::reopen`](crate::observe::audit::AuditSink::reopen) of other
    /// destinations. The command line calls it at SIGHUP. A file that was renamed or deleted is also noticed before the
    /// next entry is written.
    pub fn reopen_audit_log(&self) {
        self.inner.pipeline.services.audit.reopen();
    }

    /// Whether this process runs executions that the end of this session would stop, or an extension has other such work.
    #[doc(hidden)]
    pub fn runs_executions_of(&self, session: &Session) -> bool {
        self.inner.pipeline.executions.are_running_in(session)
            || self.inner.services.iter().any(|service| service.runs_work_of(session))
    }

    /// Ends these executions, and waits until the work of ended sessions is complete.
    #[doc(hidden)]
    pub async fn end_executions_of(&self, which: EndScope) {
        let pipeline = &self.inner.pipeline;
        pipeline.executions.end(which).await;
        pipeline.services.session_ends.completed().await;
    }

    /// Ends all sessions. Stops their executions and waits until these have ended, at most for the grace
    /// period of [`ExecutionOptions`](crate::ExecutionOptions) and a short time for the store.
    ///
    /// In sessions with confirmation tokens or agents, the tokens are revoked, the agents are
    /// stopped, and the audit log has both when this function returns. It waits at most ten seconds for
    /// that.
    ///
    /// The serving functions call it for their clients when they end. Call it before the process ends if
    /// you only use [`call`](Self::call), or if you embed `Adapter::router`.
    ///
    /// Source: REQ-LIF-10, REQ-SES-02, REQ-TOK-12.
    pub async fn end_sessions(&self) {
        self.inner.pipeline.services.session_ends.end_sessions();
        self.end_executions_of(EndScope::All).await;
        self.flush_tracer().await;
    }
}
