//! Executions: long-running operations. A call begins one and is answered with its state; a record in
//! the store tells where it stands, and a task of the process that owns it brings it to its end.
//!
//! What may become of an execution is decided in `state` and `record`, which know neither store nor
//! clock; `ledger` makes each change to what was read last, so that two processes never make two of
//! one step. An owner says every now and then that it lives. Whose lease has run out is gone, and
//! whoever sees that ends the execution; an owner that was taken for gone finds its record changed,
//! and stops.
//!
//! Source: MCP-AQL §8.4 (REQ-LIF-01 to REQ-LIF-11).

mod keeper;
mod ledger;
mod live;
mod options;
mod payload;
#[cfg(test)]
mod properties;
mod record;
mod room;
mod secrets;
mod state;
mod table;
mod task;
#[cfg(test)]
mod tests;
mod wait;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, OnceCell};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::clock::after;
use ledger::{Ledger, Verdict};
use live::{Live, Lives, Why};
pub use options::ExecutionOptions;
pub(crate) use payload::ExecutionState;
pub(crate) use record::ExecutionRecord;
use record::Hold;
use room::Rooms;
pub(crate) use room::{Full, Room};
use secrets::Secrets;
pub(crate) use state::Status;
pub(crate) use table::{PAGE_SIZES, built_in};
pub(crate) use task::{Begin, Work};

use crate::services::Services;
use crate::session::Session;
use crate::store::StoreError;

/// How long the end of executions may take beyond the grace period: for the store.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// How often expired records are looked for.
const PURGE: Duration = Duration::from_secs(10 * 60);

/// The executions of an adapter. When it is dropped, what runs is told to stop.
pub(crate) struct Executions {
    core: Arc<Core>,
}

/// What the tasks of executions share. It outlives the adapter until they are done.
pub(crate) struct Core {
    pub(crate) ledger: Ledger,
    pub(crate) options: ExecutionOptions,
    /// Names this process, and in it this adapter.
    owner: String,
    pub(crate) lives: Lives,
    pub(crate) secrets: Secrets,
    rooms: Arc<Rooms>,
    /// The adapter is gone.
    pub(crate) stopping: CancellationToken,
    /// What an earlier process left behind has been ended.
    swept: OnceCell<()>,
    purged: Mutex<Option<DateTime<Utc>>>,
}

/// A call that becomes an execution.
pub(crate) struct NewExecution<'a> {
    pub(crate) operation: &'a str,
    pub(crate) session: Option<Session>,
    pub(crate) room: Room,
    /// What a retry would run with, if there can be one.
    pub(crate) params: Option<Map<String, Value>>,
    /// Some of it is too secret for the store.
    pub(crate) secret: bool,
    /// Nobody is in line before it.
    pub(crate) at_once: bool,
    /// The parameters as the audit log may show them.
    pub(crate) shown: Option<Value>,
}

/// Which executions should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Those whose session has ended: they have been told already.
    OfEndedSessions,
    /// These, and those without a session.
    #[cfg(any(feature = "stdio", feature = "http"))]
    OfNobody,
    /// All of them.
    All,
}

impl Ends {
    fn takes(self, live: &Live) -> bool {
        match &live.session {
            _ if self == Self::All => true,
            None => self != Self::OfEndedSessions,
            Some(session) => session.has_ended(),
        }
    }
}

impl Executions {
    pub(crate) fn new(services: Arc<Services>, adapter: String, options: ExecutionOptions) -> Self {
        let ledger = Ledger { services, adapter, keep: options.keep };
        let core = Core {
            ledger,
            options,
            owner: crate::vocab::new_id("p"),
            lives: Lives::default(),
            secrets: Secrets::default(),
            rooms: Arc::default(),
            stopping: CancellationToken::new(),
            swept: OnceCell::new(),
            purged: Mutex::default(),
        };
        Self { core: Arc::new(core) }
    }

    pub(crate) fn options(&self) -> &ExecutionOptions {
        &self.core.options
    }

    /// Room for an execution of this session, if there is any.
    pub(crate) fn room(&self, session: Option<&Session>) -> Result<Room, Full> {
        self.core.rooms.take(session, &self.core.options)
    }

    /// Ends what an earlier process left behind, beside whatever comes next.
    pub(crate) fn recover(&self) {
        let core = Arc::clone(&self.core);
        tokio::spawn(async move { core.sweep().await });
    }

    /// Begins an execution; gives its id.
    pub(crate) async fn begin(
        &self,
        new: NewExecution<'_>,
        work: Work,
    ) -> Result<String, StoreError> {
        let core = &self.core;
        core.sweep().await;
        core.purge().await;
        let now = core.ledger.now();
        let id = ledger::new_id(now)?;
        let secret = new.params.clone().filter(|_| new.secret);
        let mut record = ExecutionRecord {
            adapter: core.ledger.adapter.clone(),
            operation: new.operation.to_owned(),
            status: Status::Pending,
            attempt: 1,
            session: new.session.as_ref().map(|session| session.id().to_owned()),
            started_at: None,
            finished_at: None,
            progress: None,
            error: None,
            result: None,
            warnings: Vec::new(),
            params: new.params.filter(|_| !new.secret),
            owner: core.owner.clone(),
            lease_until: after(now, core.options.lease),
            cancel_requested: false,
        };
        if new.at_once {
            // Saves the store a change that nobody would see.
            let _ = record.start(now);
        }
        core.ledger.insert(&id, &record).await?;
        if let Some(params) = secret {
            core.secrets.keep(&id, params, now);
        }
        core.run(id.clone(), &record, (new.session, new.room), work);
        core.ledger.note("EXECUTION_STARTED", &id, &record, (None, new.shown)).await;
        Ok(id)
    }

    /// Runs an attempt that has failed once more. False when it is not that attempt any more that
    /// stands there, or not failed.
    pub(crate) async fn again(
        &self,
        id: &str,
        attempt: u32,
        (session, room): (Option<Session>, Room),
        work: Work,
    ) -> Result<bool, StoreError> {
        let core = &self.core;
        let session_id = session.as_ref().map(|session| session.id().to_owned());
        let taken = core.ledger.update(id, |record, now| {
            let same = record.attempt == attempt;
            let lease = core.options.lease;
            if same && record.retry(&core.owner, session_id.clone(), now, lease).is_ok() {
                Verdict::Write(Some(record.clone()))
            } else {
                Verdict::Leave(None)
            }
        });
        let Some(Some(record)) = taken.await? else { return Ok(false) };
        core.run(id.to_owned(), &record, (session, room), work);
        core.ledger.note("EXECUTION_RETRIED", id, &record, (None, None)).await;
        Ok(true)
    }

    /// An execution, as it is now.
    pub(crate) async fn get(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        self.core.sweep().await;
        self.core.get(id).await
    }

    /// Visits the executions of a session, or of those without one, that come behind `after`: the
    /// newest first, until `visit` breaks.
    pub(crate) async fn visit(
        &self,
        session: Option<&Session>,
        after: Option<&str>,
        mut visit: impl FnMut(String, ExecutionRecord) -> ControlFlow<()> + Send,
    ) -> Result<(), StoreError> {
        let core = &self.core;
        core.sweep().await;
        let runs_here = |id: &str, attempt| core.lives.runs(id, attempt);
        let session = session.map(Session::id);
        let visit = |id: String, mut record: ExecutionRecord| {
            core.bring_up_to_date(&id, &mut record);
            visit(id, record)
        };
        core.ledger.visit(session, after, visit, &runs_here).await
    }

    /// What a retry of this execution would run with, where this process knows it.
    pub(crate) fn params(&self, id: &str, record: &ExecutionRecord) -> Option<Map<String, Value>> {
        record.params.clone().or_else(|| self.core.secrets.get(id))
    }

    /// Tells an execution to stop, wherever it runs. False when it is over already.
    pub(crate) async fn ask_to_stop(&self, id: &str) -> Result<bool, StoreError> {
        let core = &self.core;
        let asked = core.ledger.update(id, |record, _| {
            if record.status.is_final() {
                return Verdict::Leave(false);
            }
            record.cancel_requested = true;
            Verdict::Write(true)
        });
        let asked = asked.await? == Some(true);
        if asked && let Some(live) = core.lives.get(id) {
            live.ask(Why::Asked);
        }
        Ok(asked)
    }

    /// How long an execution that should stop may take to do so, wherever it runs.
    pub(crate) fn patience(&self) -> Duration {
        let options = &self.core.options;
        options.grace + options.lease / 3 + LAST_WRITES
    }

    /// Ends executions and waits until they have ended, or have taken too long.
    pub(crate) async fn end(&self, which: Ends) {
        let core = &self.core;
        for live in core.lives.all() {
            if which != Ends::OfEndedSessions && which.takes(&live) {
                live.ask(Why::AdapterStopped);
            }
        }
        let gone = core.lives.gone(|live| which.takes(live));
        if tokio::time::timeout(core.options.grace + LAST_WRITES, gone).await.is_err() {
            tracing::warn!("executions that would not end were left behind");
        }
    }
}

impl Drop for Executions {
    fn drop(&mut self) {
        self.core.stopping.cancel();
    }
}

impl Core {
    /// Starts the task of an execution whose record says that it is ours.
    fn run(
        self: &Arc<Self>,
        id: String,
        record: &ExecutionRecord,
        (session, room): (Option<Session>, Room),
        work: Work,
    ) {
        let hold = Hold { owner: self.owner.clone(), attempt: record.attempt };
        let span = tracing::info_span!(
            "execution",
            id,
            operation = record.operation,
            attempt = record.attempt
        );
        let live = Arc::new(Live::new(id, hold, session, record.status));
        if self.lives.add(Arc::clone(&live)) {
            tokio::spawn(keeper::keep(Arc::clone(self)));
        }
        tokio::spawn(task::supervise(Arc::clone(self), live, room, work).instrument(span));
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        let runs_here = |id: &str, attempt| self.lives.runs(id, attempt);
        let mut found = self.ledger.get(id, &runs_here).await?;
        if let Some(record) = &mut found {
            self.bring_up_to_date(id, record);
        }
        Ok(found)
    }

    /// The store does not hear of every step.
    fn bring_up_to_date(&self, id: &str, record: &mut ExecutionRecord) {
        if record.status.is_final() {
            return;
        }
        if let Some(live) = self.lives.get(id).filter(|live| record.is_held_by(&live.hold)) {
            record.progress = live.progress();
        }
    }

    /// Forgets what has expired, now and then.
    async fn purge(&self) {
        let now = self.ledger.now();
        {
            let mut purged = self.purged.lock().await;
            if purged.is_some_and(|at| at <= now && after(at, PURGE) > now) {
                return;
            }
            *purged = Some(now);
        }
        let purged = async { self.ledger.services.store().await?.purge(now).await };
        if let Err(error) = purged.await {
            tracing::warn!(%error, "what has expired cannot be forgotten");
        }
    }
}
