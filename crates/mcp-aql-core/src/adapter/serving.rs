//! The start and the end of serving clients.

use std::any::Any;
use std::time::Duration;

use super::Adapter;
use crate::execution::EndScope;
use crate::main_error::Result;

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

    /// Starts what extensions run beside the adapter, such as the operator console. Dropping the returned values
    /// stops it.
    #[doc(hidden)]
    pub async fn start_services(&self) -> Result<Vec<Box<dyn Any + Send>>> {
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

    /// Returns a clone whose servers wait for this long at their end, whatever the builder and the configuration say.
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

    /// Opens the file of the audit log again, and calls [`AuditSink::reopen`](crate::audit::AuditSink::reopen) of other
    /// destinations. The command line calls it at SIGHUP. A file that was renamed or deleted is also noticed before the
    /// next entry is written.
    pub fn reopen_audit_log(&self) {
        self.inner.pipeline.services.audit.reopen();
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
