//! The task that runs one execution from its start to its end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql_protocol::ErrorCode;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Core;
use super::execution_slot::ExecutionSlot;
use super::execution_store::RecordUpdate;
use super::payload::{ExecutionError, serialize_warnings};
use super::record::{Ending, ExecutionRecord};
use super::running::RunningExecution;
use super::status::Status;
use crate::error::OperationError;
use crate::operation::{Advance, ExecutionContext, ExecutionSink, Outcome, Payload, SUCCESS};
use crate::store::{StoreError, chain};
use crate::util::BoxFuture;
use crate::util::lock;

/// Minimum time between two writes of progress to the store. Waiting callers in this process receive every report.
const PROGRESS_WRITE_INTERVAL: Duration = Duration::from_millis(500);
/// How long an aborted function may take to be dropped. A function without await points cannot be dropped.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay between two attempts to write the end of an execution.
const FINISH_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The work of an execution: waits for its turn, reports its start, and calls the function.
pub(crate) type Work =
    Box<dyn FnOnce(ExecutionContext, Begin) -> BoxFuture<'static, Outcome> + Send>;

/// Reports the start of an execution.
pub(crate) struct Begin {
    core: Arc<Core>,
    live: Arc<RunningExecution>,
}

impl Begin {
    /// Moves the execution to `running`, if it may still start.
    pub(crate) async fn mark_started(self) -> Result<(), OperationError> {
        let Self { core, live } = self;
        if live.updates.borrow().status == Status::Running {
            return Ok(());
        }
        if !live.claim_start() {
            return Err(OperationError::internal("it was stopped before it started"));
        }
        let begun = core
            .store
            .update(&live.id, |record, now| {
                let held = record.is_held_by(&live.ownership);
                if held && record.start(now).is_ok() {
                    RecordUpdate::Write(true)
                } else {
                    RecordUpdate::Leave(false)
                }
            })
            .await?;
        if begun != Some(true) {
            live.fenced.cancel();
            return Err(OperationError::internal("the execution belongs to another process"));
        }
        live.updates.send_modify(|updates| updates.status = Status::Running);
        Ok(())
    }
}

/// Receives the progress reports of the function.
struct ProgressWriter {
    core: Arc<Core>,
    live: Arc<RunningExecution>,
    /// Time of the last write of progress to the store.
    saved: Mutex<Option<Instant>>,
}

impl ExecutionSink for ProgressWriter {
    fn advance(&self, advance: Advance) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.live.over.is_cancelled() {
                return;
            }
            self.live
                .updates
                .send_modify(|updates| updates.progress.get_or_insert_default().advance(advance));
            if self.is_due() {
                self.core.renew(&self.live).await;
            } else {
                // Lets other tasks run if a function reports often and never waits.
                tokio::task::yield_now().await;
            }
        })
    }
}

impl ProgressWriter {
    fn is_due(&self) -> bool {
        let mut saved = lock(&self.saved);
        let due = saved.is_none_or(|at| at.elapsed() >= PROGRESS_WRITE_INTERVAL);
        if due {
            *saved = Some(Instant::now());
        }
        due
    }
}

/// Removes an execution from the registry when its task ends, and releases its slot.
struct RegistryGuard<'a>(&'a Core, &'a RunningExecution, Option<ExecutionSlot>);

impl Drop for RegistryGuard<'_> {
    fn drop(&mut self) {
        // Release the slot first. A caller waiting for the end may immediately start another execution.
        self.2 = None;
        self.0.running.remove(self.1);
    }
}

/// The task of a function. Dropping the handle aborts it.
struct FunctionTask(JoinHandle<Outcome>);

impl Drop for FunctionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FunctionTask {
    async fn outcome(&mut self) -> Result<Outcome, JoinError> {
        (&mut self.0).await
    }

    /// Aborts the task and waits until it has been dropped.
    async fn dropped(mut self) {
        self.0.abort();
        if tokio::time::timeout(ABORT_TIMEOUT, &mut self.0).await.is_err() {
            tracing::warn!("cancelled execution did not stop: its function has no await point");
        }
    }
}

/// How a function ended.
enum RunEnd {
    By(Outcome),
    Dropped,
    Fenced,
}

/// Runs an execution from its start to its end.
pub(super) async fn supervise(
    core: Arc<Core>,
    live: Arc<RunningExecution>,
    slot: ExecutionSlot,
    work: Work,
) {
    let guard = RegistryGuard(&core, &live, Some(slot));
    let cancellation = CancellationToken::new();
    let sink = ProgressWriter {
        core: Arc::clone(&core),
        live: Arc::clone(&live),
        saved: Mutex::default(),
    };
    let execution = ExecutionContext::new(
        live.id.clone(),
        live.ownership.attempt,
        cancellation.clone(),
        Arc::new(sink),
    );
    let begin = Begin { core: Arc::clone(&core), live: Arc::clone(&live) };
    let function = FunctionTask(tokio::spawn(work(execution.clone(), begin)));
    let over = until_over(&core, &live, function, &cancellation).await;
    // A function that has noticed the request to stop may have ended early, so it counts as canceled. A function that
    // has not noticed it has completed its work.
    let stopped = live.stop_reason().is_some() && execution.has_noticed();
    let ending = match over {
        RunEnd::Fenced => {
            return tracing::warn!(
                execution = live.id,
                "stopped: another process has ended this execution as abandoned"
            );
        }
        RunEnd::Dropped => Ending::Cancelled,
        RunEnd::By(_) if stopped => Ending::Cancelled,
        RunEnd::By(outcome) => match outcome.and_then(data) {
            Ok(data) => Ending::Completed(data),
            Err(error) => {
                log(&live.id, &error);
                Ending::Failed(ExecutionError::of(&error))
            }
        },
    };
    let warnings = serialize_warnings(&live.id, execution.take_warnings());
    finish(&core, &live, ending, warnings).await;
    drop(guard);
    core.store.enforce_budget().await;
}

async fn until_over(
    core: &Core,
    live: &RunningExecution,
    mut function: FunctionTask,
    cancellation: &CancellationToken,
) -> RunEnd {
    // Keep an outcome even if the lease has just expired. It is written if the execution still belongs to this process.
    let has_started = || live.updates.borrow().status == Status::Running;
    let by = |joined: Result<Outcome, JoinError>| match joined {
        _ if live.fenced.is_cancelled() && !has_started() => RunEnd::Fenced,
        Ok(outcome) => RunEnd::By(outcome),
        Err(error) => RunEnd::By(Err(OperationError::internal(error))),
    };
    let fenced = tokio::select! {
        biased;
        joined = function.outcome() => return by(joined),
        () = live.fenced.cancelled() => true,
        () = live.stop_requested(&core.stopping) => false,
    };
    // A pending execution needs no grace period.
    if fenced || live.claim_start() {
        function.dropped().await;
        return if fenced { RunEnd::Fenced } else { RunEnd::Dropped };
    }
    cancellation.cancel();
    let fenced = tokio::select! {
        biased;
        joined = function.outcome() => return by(joined),
        () = live.fenced.cancelled() => true,
        () = tokio::time::sleep(core.options.grace) => false,
    };
    function.dropped().await;
    if fenced { RunEnd::Fenced } else { RunEnd::Dropped }
}

/// Extracts the `data` of a reply.
fn data(payload: Payload) -> Result<Box<RawValue>, OperationError> {
    let text = payload.into_plain_text();
    let data = text.strip_prefix(SUCCESS).unwrap_or(&text).to_owned();
    RawValue::from_string(data).map_err(OperationError::internal)
}

/// Logs the error of an execution in the same way as the error of a call.
fn log(id: &str, error: &OperationError) {
    let code = error.code().as_str();
    if error.code() == ErrorCode::InternalError && !error.is_logged() {
        let correlation_id = error.details().get("correlation_id").and_then(Value::as_str);
        let cause = error.cause().map(|cause| chain(cause));
        tracing::error!(execution = id, code, correlation_id, cause, "execution failed");
    } else {
        tracing::info!(execution = id, code, "execution failed");
    }
}

/// Writes the end of an execution. If the store fails, the outcome is kept and the write is retried.
async fn finish(core: &Core, live: &RunningExecution, ending: Ending, warnings: Vec<Value>) {
    let begun = Instant::now();
    let mut attempted = false;
    loop {
        let written = write_end(core, live, (&ending, &warnings), &mut attempted).await;
        let error = match written {
            Ok(Some(record)) => return ended(core, live, &record).await,
            Ok(None) => {
                return tracing::warn!(
                    execution = live.id,
                    "result discarded: another process has ended this execution as abandoned"
                );
            }
            Err(error) => error,
        };
        // Give up only if the process is ending or the record is damaged.
        let is_last = core.stopping.is_cancelled() || error.is_unreadable();
        if is_last && begun.elapsed() >= core.options.lease {
            return tracing::error!(%error, execution = live.id, "cannot write the end of an execution");
        }
        if error.outage().is_none() {
            tracing::warn!(%error, execution = live.id, "cannot write the end of an execution yet");
        }
        tokio::time::sleep(FINISH_RETRY_DELAY).await;
    }
}

/// Writes the end of an execution, and returns its record. Returns `None` if the execution belongs to another process.
///
/// `attempted` is set once a write has begun. A failed write may still have reached the store, so the next attempt
/// accepts a record that already contains this ending.
async fn write_end(
    core: &Core,
    live: &RunningExecution,
    (ending, warnings): (&Ending, &[Value]),
    attempted: &mut bool,
) -> Result<Option<ExecutionRecord>, StoreError> {
    let written = core.store.update(&live.id, |record, now| {
        if *attempted && record.has_ended_as(&live.ownership, ending) {
            return RecordUpdate::Leave(Some(record.clone()));
        }
        if !record.is_held_by(&live.ownership) {
            return RecordUpdate::Leave(None);
        }
        record.progress = live.progress().or(record.progress.take());
        warnings.clone_into(&mut record.warnings);
        match record.finish(ending.clone(), now) {
            Ok(()) => {
                *attempted = true;
                RecordUpdate::Write(Some(record.clone()))
            }
            Err(_) => RecordUpdate::Leave(None),
        }
    });
    Ok(written.await?.flatten())
}

/// Reports an execution whose end has been written.
async fn ended(core: &Core, live: &RunningExecution, record: &ExecutionRecord) {
    core.sensitive_params.ended(&live.id, record, core.options.keep);
    let event = match record.status {
        Status::Completed => "EXECUTION_COMPLETED",
        Status::Failed => "EXECUTION_FAILED",
        _ => "EXECUTION_CANCELLED",
    };
    let why = live.stop_reason().map(super::running::StopReason::as_str);
    core.store.audit(event, &live.id, record, (why, None)).await;
    tracing::info!(execution = live.id, status = record.status.as_str(), "execution ended");
}
