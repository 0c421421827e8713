//! Executions: operations that run in the background. A call starts an execution and returns its state. The state is
//! kept in a record of the store, and a task in the owning process runs the function.
//!
//! The state machine is in `status` and `record`. They depend on neither the store nor the clock. `execution_store`
//! applies each change to the version it has read, so two processes cannot both make the same transition.
//!
//! The owner of an execution renews its lease periodically. Once the lease has expired, the owner counts as gone, and
//! the next reader of the record ends the execution. If the former owner is still alive, it finds the record changed,
//! and stops.
//!
//! Source: MCP-AQL §8.4 (REQ-LIF-01 to REQ-LIF-11).

pub(crate) mod concurrency;
mod execution_slot;
mod execution_store;
mod lease;
mod operations;
mod options;
mod output;
mod output_budget;
mod payload;
mod record;
mod running;
mod sensitive_params;
mod state;
mod status;
mod task;
mod wait;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::util::clock::after;
use execution_slot::ExecutionSlots;
pub(crate) use execution_slot::{ExecutionSlot, LimitReached};
pub use execution_store::created_at;
use execution_store::{ExecutionStore, RecordUpdate};
pub(crate) use operations::{PAGE_SIZES, built_in};
pub use options::ExecutionOptions;
use output_budget::OutputBudget;
pub(crate) use record::ExecutionRecord;
use record::Ownership;
use running::{RunningExecution, RunningExecutions, StopReason};
use sensitive_params::SensitiveParams;
pub(crate) use state::ExecutionState;
pub(crate) use status::Status;
pub(crate) use task::{Begin, Work};

use crate::caller::principal::Principal;
use crate::caller::session::Session;
use crate::services::Services;
use crate::store::StoreError;
use crate::util::spawn;

/// Time for writes to the store when executions are ended, in addition to the grace period.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// The executions of an adapter. Dropping it stops the running ones.
pub struct Executions {
    core: Arc<Core>,
}

/// State shared by the tasks of executions. It outlives the adapter until all tasks have ended.
pub(crate) struct Core {
    pub(crate) store: ExecutionStore,
    pub(crate) options: ExecutionOptions,
    /// Id of this adapter in this process.
    owner: String,
    pub(crate) running: RunningExecutions,
    pub(crate) sensitive_params: SensitiveParams,
    slots: Arc<ExecutionSlots>,
    /// Canceled when the adapter is dropped.
    pub(crate) stopping: CancellationToken,
    /// Time of the last search for executions of crashed processes.
    swept: Mutex<Option<DateTime<Utc>>>,
}

/// Describes an execution to start.
pub(crate) struct NewExecution<'a> {
    pub(crate) operation: &'a str,
    pub(crate) session: Option<Session>,
    pub(crate) principal: Option<Principal>,
    pub(crate) slot: ExecutionSlot,
    /// Parameters for a retry. `None` if the operation does not support retries.
    pub(crate) params: Option<Map<String, Value>>,
    /// If `true`, the parameters are too sensitive for the store.
    pub(crate) secret: bool,
    /// If `true`, the execution starts without waiting in a queue.
    pub(crate) starts_immediately: bool,
    /// Parameters for the audit log. Sensitive ones are masked.
    pub(crate) audit_params: Option<Value>,
}

/// Selects the executions to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndScope {
    /// Executions whose session has ended. They have already been asked to stop.
    EndedSessions,
    /// Executions whose session has ended, and executions without a session.
    EndedAndSessionless,
    /// All executions.
    All,
}

impl EndScope {
    fn includes(self, live: &RunningExecution) -> bool {
        match &live.session {
            _ if self == Self::All => true,
            None => self != Self::EndedSessions,
            Some(session) => session.has_ended(),
        }
    }
}

impl Executions {
    pub(crate) fn new(services: Arc<Services>, adapter: String, options: ExecutionOptions) -> Self {
        let budget = OutputBudget::new(&options);
        let store = ExecutionStore { services, adapter, keep: options.keep, budget };
        let core = Core {
            store,
            options,
            owner: crate::vocab::new_id("p"),
            running: RunningExecutions::default(),
            sensitive_params: SensitiveParams::new(&options),
            slots: Arc::default(),
            stopping: CancellationToken::new(),
            swept: Mutex::default(),
        };
        Self { core: Arc::new(core) }
    }

    pub(crate) fn options(&self) -> &ExecutionOptions {
        &self.core.options
    }

    /// Returns how long an execution is kept after its end.
    pub fn retention(&self) -> Duration {
        self.core.options.keep
    }

    /// Returns the numbers of pending and of running executions in this process.
    pub fn count(&self) -> (usize, usize) {
        let all = self.core.running.all();
        let pending = all.iter().filter(|live| live.updates.borrow().status == Status::Pending);
        let pending = pending.count();
        (pending, all.len() - pending)
    }

    /// Acquires a slot for an execution of this session or principal.
    pub(crate) fn slot(&self, account: Option<&str>) -> Result<ExecutionSlot, LimitReached> {
        self.core.slots.acquire(account, &self.core.options)
    }

    /// Ends the executions of earlier processes, in a separate task.
    pub(crate) fn recover(&self) {
        self.core.sweep();
    }

    /// Starts an execution and returns its id.
    pub(crate) async fn begin(
        &self,
        new: NewExecution<'_>,
        work: Work,
    ) -> Result<String, StoreError> {
        let core = &self.core;
        core.sweep();
        let now = core.store.now();
        let id = execution_store::new_id(now)?;
        let secret = new.params.clone().filter(|_| new.secret);
        let lease_until = after(now, core.options.lease);
        let mut record = ExecutionRecord {
            session: new.session.as_ref().map(|session| session.id().to_owned()),
            principal: new.principal.as_ref().map(|principal| principal.id().to_owned()),
            account: new.principal.as_ref().map(|principal| principal.account().to_owned()),
            params: new.params.filter(|_| !new.secret),
            ..ExecutionRecord::pending(&core.store.adapter, new.operation, &core.owner, lease_until)
        };
        if new.starts_immediately {
            // Saves one write to the store.
            let _ = record.start(now);
        }
        core.store.insert(&id, &record).await?;
        if let Some(params) = secret {
            core.sensitive_params.keep(&id, record.listed_for(), params, now);
        }
        core.run(id.clone(), &record, (new.session, new.slot), work);
        core.store.audit("EXECUTION_STARTED", &id, &record, (None, new.audit_params)).await;
        Ok(id)
    }

    /// Retries a failed attempt. The parameters in `failed` are stored again. Returns `false` if the execution has not
    /// failed, or is already at a later attempt.
    pub(crate) async fn start_retry(
        &self,
        id: &str,
        failed: &ExecutionRecord,
        (session, slot): (Option<Session>, ExecutionSlot),
        work: Work,
    ) -> Result<bool, StoreError> {
        let core = &self.core;
        let session_id = session.as_ref().map(|session| session.id().to_owned());
        let retried = core.store.update(id, |record, now| {
            let same = record.attempt == failed.attempt;
            let lease = core.options.lease;
            if same && record.retry(&core.owner, session_id.clone(), now, lease).is_ok() {
                record.params.clone_from(&failed.params);
                RecordUpdate::Write(Some(record.clone()))
            } else {
                RecordUpdate::Leave(None)
            }
        });
        let Some(Some(record)) = retried.await? else { return Ok(false) };
        core.run(id.to_owned(), &record, (session, slot), work);
        core.store.audit("EXECUTION_RETRIED", id, &record, (None, None)).await;
        Ok(true)
    }

    /// Returns the current state of an execution without its result.
    pub async fn get(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        self.core.sweep();
        self.core.get(id).await
    }

    /// Visits the executions of one owner, newest first, starting after the key `after`, until `visit` breaks. The
    /// owner is the account of a principal, or a session. `None` stands for all callers with neither.
    pub(crate) async fn visit(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        mut visit: impl FnMut(String, ExecutionRecord) -> ControlFlow<()> + Send,
    ) -> Result<(), StoreError> {
        let core = &self.core;
        core.sweep();
        let runs_here = |id: &str, attempt| core.running.runs_attempt(id, attempt);
        let visit = |id: String, mut record: ExecutionRecord| {
            core.add_latest_progress(&id, &mut record);
            visit(id, record)
        };
        core.store.visit(owner, after, visit, &runs_here).await
    }

    /// Returns the sensitive parameters for a retry of this execution, if this process still has them.
    pub(crate) fn sensitive_params(&self, id: &str) -> Option<Map<String, Value>> {
        self.core.sensitive_params.get(id)
    }

    /// Returns `true` if this process ran the latest attempt of an execution.
    pub(crate) fn has_run(&self, record: &ExecutionRecord) -> bool {
        record.owner == self.core.owner
    }

    /// Asks an execution to stop. It may run in any process. Returns `false` if it has already ended.
    pub(crate) async fn request_stop(&self, id: &str) -> Result<bool, StoreError> {
        let core = &self.core;
        let asked = core.store.update(id, |record, _| {
            if record.status.is_final() {
                return RecordUpdate::Leave(false);
            }
            record.cancel_requested = true;
            RecordUpdate::Write(true)
        });
        let asked = asked.await? == Some(true);
        if asked && let Some(live) = core.running.get(id) {
            live.request_stop(StopReason::Requested);
        }
        Ok(asked)
    }

    /// Returns the maximum time until a stopping execution has ended, in any process.
    pub(crate) fn stop_timeout(&self) -> Duration {
        let options = &self.core.options;
        options.grace + options.lease / 3 + FINAL_WRITE_TIMEOUT
    }

    /// Waits until no execution is running in this process.
    pub(crate) async fn all_ended(&self) {
        self.core.running.wait_until_gone(|_| true).await;
    }

    /// Logs each running execution before the server aborts it.
    pub(crate) fn log_cut_off(&self) {
        for live in self.core.running.all() {
            tracing::warn!(
                execution = live.id,
                operation = live.operation,
                session = live.session.as_ref().map(Session::id),
                "an execution is cut off: it did not end before the drain timeout"
            );
        }
    }

    /// Returns `true` if executions of this session are running.
    pub(crate) fn are_running_in(&self, session: &Session) -> bool {
        self.core.running.any(|live| live.session.as_ref() == Some(session))
    }

    /// Ends executions. Waits until they have ended, or until the grace period is over.
    pub(crate) async fn end(&self, which: EndScope) {
        let core = &self.core;
        for live in core.running.all() {
            if which != EndScope::EndedSessions && which.includes(&live) {
                live.request_stop(StopReason::AdapterStopped);
            }
        }
        let gone = core.running.wait_until_gone(|live| which.includes(live));
        if tokio::time::timeout(core.options.grace + FINAL_WRITE_TIMEOUT, gone).await.is_err() {
            tracing::warn!("timed out ending executions: some are still running");
        }
    }
}

impl Drop for Executions {
    fn drop(&mut self) {
        self.core.stopping.cancel();
    }
}

impl Core {
    /// Starts the task of an execution owned by this process.
    fn run(
        self: &Arc<Self>,
        id: String,
        record: &ExecutionRecord,
        (session, slot): (Option<Session>, ExecutionSlot),
        work: Work,
    ) {
        let ownership = Ownership { owner: self.owner.clone(), attempt: record.attempt };
        // A span at the level `error` is always enabled, so warnings and errors name the operation too.
        let span = tracing::error_span!(
            "execution",
            id,
            operation = record.operation,
            attempt = record.attempt
        );
        let live = Arc::new(RunningExecution::new((id, record), ownership, session));
        if self.running.add(Arc::clone(&live)) {
            spawn(lease::renew_leases(Arc::clone(self)));
        }
        spawn(task::supervise(Arc::clone(self), live, slot, work).instrument(span));
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        let runs_here = |id: &str, attempt| self.running.runs_attempt(id, attempt);
        let mut found = self.store.get(id, &runs_here).await?;
        if let Some(record) = &mut found {
            self.add_latest_progress(id, record);
        }
        Ok(found)
    }

    /// Adds the latest progress. The store may lag behind, because progress is not written at every step.
    fn add_latest_progress(&self, id: &str, record: &mut ExecutionRecord) {
        if record.status.is_final() {
            return;
        }
        if let Some(live) = self.running.get(id).filter(|live| record.is_held_by(&live.ownership)) {
            record.progress = live.progress();
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
