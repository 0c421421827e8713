//! The services that gates, executions and the safety loop share.

use std::sync::Arc;

use crate::audit::Audit;
use crate::clock::TimeSource;
use crate::error::OperationError;
use crate::session_end::SessionEnds;
use crate::store::{MonitoredStore, Ready, Store, StoreError};

/// The store, the clock, the audit log and the work at the end of sessions.
pub struct Services {
    pub(crate) store: Arc<MonitoredStore>,
    /// The clock.
    pub time: TimeSource,
    /// The audit log.
    pub audit: Audit,
    /// The work that is due when sessions end.
    pub session_ends: Arc<SessionEnds>,
    ready: Arc<Ready>,
}

impl Services {
    /// Creates the services of an adapter.
    pub fn new(store: Arc<dyn Store>, time: TimeSource, audit: Audit) -> Self {
        Self::sharing(Arc::new(MonitoredStore::new(store)), Arc::default(), time, audit)
    }

    /// Creates the services of an adapter whose store and its preparation have other users as well.
    pub(crate) fn sharing(
        store: Arc<MonitoredStore>,
        ready: Arc<Ready>,
        time: TimeSource,
        audit: Audit,
    ) -> Self {
        Self { store, time, audit, session_ends: Arc::default(), ready }
    }

    /// Returns the store, prepared before its first use.
    pub async fn store(&self) -> Result<&dyn Store, StoreError> {
        self.ready.get_or_try_init(|| self.store.prepare()).await?;
        Ok(&*self.store)
    }

    /// Returns the store as [`store`](Self::store) does, with the error type of a call.
    pub(crate) async fn store_for_call(&self) -> Result<&dyn Store, OperationError> {
        self.store().await.map_err(OperationError::from)
    }
}
