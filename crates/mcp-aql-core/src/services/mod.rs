//! The services that gates, executions and the safety loop share.

pub(crate) mod session_end;

use std::sync::Arc;
use std::time::Duration;

use crate::error::OperationError;
use crate::observe::audit::Audit;
use crate::services::session_end::SessionEnds;
use crate::store::{Change, Expected, MonitoredStore, NewRecord, Ready, StateStore, StoreError};
use crate::util::clock::{TimeSource, after};

/// The collection of the record that checks of the store write.
const PROBES: &str = "probes";
/// How long that record is kept.
const PROBE_TTL: Duration = Duration::from_secs(60 * 60);
/// The time limit of preparing and checking the store at the start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

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
    pub fn new(store: Arc<dyn StateStore>, time: TimeSource, audit: Audit) -> Self {
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
    pub async fn store(&self) -> Result<&dyn StateStore, StoreError> {
        self.ready.get_or_try_init(|| self.store.prepare()).await?;
        Ok(&*self.store)
    }

    /// Prepares the store and checks that it can be read and written within a time limit. The errors are not logged.
    pub(crate) async fn start_store(&self) -> Result<(), StoreError> {
        let store = self.store.unmonitored();
        let started = async {
            self.ready.get_or_try_init(|| store.prepare()).await?;
            self.probe(store).await
        };
        tokio::time::timeout(START_TIMEOUT, started).await.unwrap_or_else(|_| {
            let seconds = START_TIMEOUT.as_secs();
            Err(StoreError::failed(format!("it does not answer within {seconds} s")))
        })
    }

    /// Checks that the store can be read and written.
    pub(crate) async fn check_store(&self) -> Result<(), StoreError> {
        self.probe(self.store().await?).await
    }

    /// Writes a record and reads it.
    async fn probe(&self, store: &dyn StateStore) -> Result<(), StoreError> {
        if store.is_fleeting() {
            return Ok(());
        }
        let key = &*self.audit.adapter;
        let record = NewRecord::new("null").expires_at(after(self.time.now(), PROBE_TTL));
        store.write(vec![Change::put(PROBES, key, Expected::Any, record)]).await?;
        store.get(PROBES, key).await.map(drop)
    }

    /// Returns the store as [`store`](Self::store) does, with the error type of a call.
    pub(crate) async fn store_for_call(&self) -> Result<&dyn StateStore, OperationError> {
        self.store().await.map_err(OperationError::from)
    }
}
