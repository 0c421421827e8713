//! Starts and stops the work of an adapter around serving clients.

use std::any::Any;

use super::Adapter;
use crate::caller::session::Session;
use crate::error::main_error::{Error, Result};
use crate::execution::EndScope;
use crate::store::StoreError;

impl Adapter {
    /// Returns `true` if the adapter has operations that run as executions.
    #[doc(hidden)]
    pub fn has_executions(&self) -> bool {
        self.registry().has_executions
    }

    /// Called when serving begins. Logs the notices of the settings, starts the work of extensions, and ends the
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

    /// Checks that the adapter can use its store. The check writes a record and reads it. A store in memory needs no
    /// check.
    ///
    /// The serving functions check the store when they start, and the path `/readyz` checks it for probes. If you embed
    /// `Adapter::router`, call this function yourself, so that your program does not start with an unusable store.
    ///
    /// ```
    /// # use mcp_aql::Adapter;
    /// # async fn start(adapter: Adapter) -> mcp_aql::Result<()> {
    /// adapter.check_store().await.map_err(mcp_aql::Error::other)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be opened, read or written, or if another program or version created it.
    /// The message is for the log, not for clients.
    pub async fn check_store(&self) -> Result<(), StoreError> {
        self.inner.pipeline.services.check_store().await
    }

    /// Checks the store, and starts services of extensions such as the operator console. Drop the returned values to
    /// stop them.
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

    /// Waits until no execution is running in this process.
    #[doc(hidden)]
    pub async fn executions_ended(&self) {
        self.inner.pipeline.executions.all_ended().await;
    }

    /// Logs the running executions. Called when the server stops waiting for them.
    #[doc(hidden)]
    pub fn log_cut_off_executions(&self) {
        self.inner.pipeline.executions.log_cut_off();
    }

    /// Reopens the file of the audit log, and calls [`AuditSink::reopen`](crate::observe::audit::AuditSink::reopen) for
    /// your sinks. Call it after a log rotation. The command line calls it at SIGHUP. A renamed or deleted file is also
    /// detected before the next entry is written.
    pub fn reopen_audit_log(&self) {
        self.inner.pipeline.services.audit.reopen();
    }

    /// Returns `true` if this process runs executions that would stop at the end of this session, or if an extension
    /// has other such work.
    #[doc(hidden)]
    pub fn runs_executions_of(&self, session: &Session) -> bool {
        self.inner.pipeline.executions.are_running_in(session)
            || self.inner.services.iter().any(|service| service.runs_work_of(session))
    }

    /// Ends executions, and waits until the cleanup of ended sessions is complete.
    #[doc(hidden)]
    pub async fn end_executions_of(&self, which: EndScope) {
        let pipeline = &self.inner.pipeline;
        pipeline.executions.end(which).await;
        pipeline.services.session_ends.completed().await;
    }

    /// Ends all sessions. Stops their executions and waits until they have ended, for at most the grace period of
    /// [`ExecutionOptions`](crate::ExecutionOptions) and a short time for the store.
    ///
    /// The confirmation tokens of the sessions are revoked, and their agents are stopped. When this function returns,
    /// the audit log contains both. It waits at most ten seconds for this cleanup.
    ///
    /// The serving functions call it for their clients when they stop. Call it before your process ends if you only use
    /// [`call`](Self::call), or if you embed `Adapter::router`.
    ///
    /// Source: REQ-LIF-10, REQ-SES-02, REQ-TOK-12.
    pub async fn end_sessions(&self) {
        self.inner.pipeline.services.session_ends.end_sessions();
        self.end_executions_of(EndScope::All).await;
        self.flush_tracer().await;
    }
}
