//! The services shared by gates, executions and the safety loop.

pub(crate) mod session_end;

use std::sync::Arc;
use std::time::Duration;

use crate::error::OperationError;
use crate::observe::audit::Audit;
use crate::services::session_end::SessionEnds;
use crate::store::{Change, Expected, MonitoredStore, NewRecord, Ready, StateStore, StoreError};
use crate::util::clock::{TimeSource, after};

/// Collection of the record written by checks of the store.
const PROBES: &str = "probes";
/// Lifetime of that record.
const PROBE_TTL: Duration = Duration::from_secs(60 * 60);
/// Time limit for preparing and checking the store on start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The store, the clock, the audit log, and the cleanup work at the end of sessions.
pub struct Services {
    pub(crate) store: Arc<MonitoredStore>,
    /// Clock.
    pub time: TimeSource,
    /// Audit log.
    pub audit: Audit,
    /// Cleanup work to do when sessions end.
    pub session_ends: Arc<SessionEnds>,
    ready: Arc<Ready>,
}

impl Services {
    /// Creates the services of an adapter.
    pub fn new(store: Arc<dyn StateStore>, time: TimeSource, audit: Audit) -> Self {
        Self::sharing(Arc::new(MonitoredStore::new(store)), Arc::default(), time, audit)
    }

    /// Creates the services of an adapter that shares its store, and the preparation of the store, with other users.
    pub(crate) fn sharing(
        store: Arc<MonitoredStore>,
        ready: Arc<Ready>,
        time: TimeSource,
        audit: Audit,
    ) -> Self {
        Self { store, time, audit, session_ends: Arc::default(), ready }
    }

    /// Returns the store. It is prepared before its first use.
    pub async fn store(&self) -> Result<&dyn StateStore, StoreError> {
        self.ready.get_or_try_init(|| self.store.prepare()).await?;
        Ok(&*self.store)
    }

    /// Prepares the store, and checks within a time limit that it can be read and written. Errors are returned
    /// without being logged.
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

    /// Writes a record and reads it again.
    async fn probe(&self, store: &dyn StateStore) -> Result<(), StoreError> {
        if store.is_fleeting() {
            return Ok(());
        }
        let key = &*self.audit.adapter;
        let record = NewRecord::new("null").expires_at(after(self.time.now(), PROBE_TTL));
        store.write(vec![Change::put(PROBES, key, Expected::Any, record)]).await?;
        store.get(PROBES, key).await.map(drop)
    }

    /// Returns the same as [`store`](Self::store), with the error type of a call.
    pub(crate) async fn store_for_call(&self) -> Result<&dyn StateStore, OperationError> {
        self.store().await.map_err(OperationError::from)
    }
}
