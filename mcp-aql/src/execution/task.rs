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
use super::ledger::Verdict;
use super::live::Live;
use super::payload::{ExecutionError, kept_warnings};
use super::record::Ending;
use super::room::Room;
use super::state::Status;
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::operation::{Advance, ExecutionContext, ExecutionSink, Outcome, Payload, SUCCESS};
use crate::sync::lock;

/// The minimum time between two writes of progress to the store. Waiters in this process see every report.
const PACE: Duration = Duration::from_millis(500);
/// How long an aborted function may take to be dropped. A function without await points cannot be dropped.
const DROPPED: Duration = Duration::from_secs(1);
/// The delay between two attempts to write the end of an execution.
const AGAIN: Duration = Duration::from_millis(500);

/// The work of an execution: waits for its turn, reports its start, and calls the function.
pub(crate) type Work =
    Box<dyn FnOnce(ExecutionContext, Begin) -> BoxFuture<'static, Outcome> + Send>;

/// Reports the start of an execution.
pub(crate) struct Begin {
    core: Arc<Core>,
    live: Arc<Live>,
}

impl Begin {
    /// Moves the execution to `running`, if it may still start.
    pub(crate) async fn tell(self) -> Result<(), OperationError> {
        let Self { core, live } = self;
        if live.news.borrow().status == Status::Running {
            return Ok(());
        }
        if !live.decide() {
            return Err(OperationError::internal("it was stopped before it started"));
        }
        let begun = core
            .ledger
            .update(&live.id, |record, now| {
                let held = record.is_held_by(&live.hold);
                if held && record.start(now).is_ok() {
                    Verdict::Write(true)
                } else {
                    Verdict::Leave(false)
                }
            })
            .await?;
        if begun != Some(true) {
            live.fenced.cancel();
            return Err(OperationError::internal("the execution belongs to another process"));
        }
        live.news.send_modify(|news| news.status = Status::Running);
        Ok(())
    }
}

/// Receives the function's progress reports.
struct Sink {
    core: Arc<Core>,
    live: Arc<Live>,
    /// When progress was last written to the store.
    saved: Mutex<Option<Instant>>,
}

impl ExecutionSink for Sink {
    fn advance(&self, advance: Advance) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.live.over.is_cancelled() {
                return;
            }
            self.live
                .news
                .send_modify(|news| news.progress.get_or_insert_default().advance(advance));
            if self.is_due() {
                self.core.renew(&self.live).await;
            } else {
                // Lets other tasks run beside a function that reports often and never waits.
                tokio::task::yield_now().await;
            }
        })
    }
}

impl Sink {
    fn is_due(&self) -> bool {
        let mut saved = lock(&self.saved);
        let due = saved.is_none_or(|at| at.elapsed() >= PACE);
        if due {
            *saved = Some(Instant::now());
        }
        due
    }
}

/// Removes an execution from the registry when its task ends, and releases its slot.
struct Listed<'a>(&'a Core, &'a Live, Option<Room>);

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        // The slot is released first: a caller that waits for the end may begin another execution.
        self.2 = None;
        self.0.lives.remove(self.1);
    }
}

/// A task that is aborted when its handle is dropped.
struct Function(JoinHandle<Outcome>);

impl Drop for Function {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Function {
    async fn outcome(&mut self) -> Result<Outcome, JoinError> {
        (&mut self.0).await
    }

    /// Aborts the task and waits until it is dropped.
    async fn dropped(mut self) {
        self.0.abort();
        if tokio::time::timeout(DROPPED, &mut self.0).await.is_err() {
            tracing::warn!("cancelled execution did not stop: its function has no await point");
        }
    }
}

/// The way in which a function ended.
enum Over {
    By(Outcome),
    Dropped,
    Fenced,
}

/// Runs an execution from its start to its end.
pub(super) async fn supervise(core: Arc<Core>, live: Arc<Live>, room: Room, work: Work) {
    let _listed = Listed(&core, &live, Some(room));
    let cancellation = CancellationToken::new();
    let sink = Sink { core: Arc::clone(&core), live: Arc::clone(&live), saved: Mutex::default() };
    let execution = ExecutionContext::new(
        live.id.clone(),
        live.hold.attempt,
        cancellation.clone(),
        Arc::new(sink),
    );
    let begin = Begin { core: Arc::clone(&core), live: Arc::clone(&live) };
    let function = Function(tokio::spawn(work(execution.clone(), begin)));
    let over = until_over(&core, &live, function, &cancellation).await;
    // A function that has noticed the request to stop may have ended early. A function that has not
    // noticed it has completed its work.
    let stopped = live.why().is_some() && execution.has_noticed();
    let ending = match over {
        Over::Fenced => {
            return tracing::warn!(
                execution = live.id,
                "stopped: another process has ended this execution as abandoned"
            );
        }
        Over::Dropped => Ending::Cancelled,
        Over::By(_) if stopped => Ending::Cancelled,
        Over::By(outcome) => match outcome.and_then(data) {
            Ok(data) => Ending::Completed(data),
            Err(error) => {
                log(&live.id, &error);
                Ending::Failed(ExecutionError::of(&error))
            }
        },
    };
    let warnings = kept_warnings(&live.id, execution.take_warnings());
    finish(&core, &live, ending, warnings).await;
}

async fn until_over(
    core: &Core,
    live: &Live,
    mut function: Function,
    cancellation: &CancellationToken,
) -> Over {
    let by = |joined: Result<Outcome, JoinError>| match joined {
        _ if live.fenced.is_cancelled() => Over::Fenced,
        Ok(outcome) => Over::By(outcome),
        Err(error) => Over::By(Err(OperationError::internal(error))),
    };
    let fenced = tokio::select! {
        biased;
        joined = function.outcome() => return by(joined),
        () = live.fenced.cancelled() => true,
        () = live.told_to_stop(&core.stopping) => false,
    };
    // A pending execution needs no grace period.
    if fenced || live.decide() {
        function.dropped().await;
        return if fenced { Over::Fenced } else { Over::Dropped };
    }
    cancellation.cancel();
    let fenced = tokio::select! {
        biased;
        joined = function.outcome() => return by(joined),
        () = live.fenced.cancelled() => true,
        () = tokio::time::sleep(core.options.grace) => false,
    };
    function.dropped().await;
    if fenced { Over::Fenced } else { Over::Dropped }
}

/// Returns the `data` of a reply.
fn data(payload: Payload) -> Result<Box<RawValue>, OperationError> {
    let text = payload.into_text();
    let data = text.strip_prefix(SUCCESS).unwrap_or(&text).to_owned();
    RawValue::from_string(data).map_err(OperationError::internal)
}

/// Logs the error of an execution in the same way as the error of a call.
fn log(id: &str, error: &OperationError) {
    let code = error.code().as_str();
    if error.code() == ErrorCode::InternalError {
        let correlation_id = error.details().get("correlation_id").and_then(Value::as_str);
        let cause = error.cause().map(ToString::to_string);
        tracing::error!(execution = id, code, correlation_id, cause, "execution failed");
    } else {
        tracing::info!(execution = id, code, "execution failed");
    }
}

/// Writes the end of the execution, once. If the store fails, retries until the lease has expired.
async fn finish(core: &Core, live: &Live, ending: Ending, warnings: Vec<Value>) {
    let begun = Instant::now();
    loop {
        let written = core
            .ledger
            .update(&live.id, |record, now| {
                if !record.is_held_by(&live.hold) {
                    return Verdict::Leave(None);
                }
                record.progress = live.progress().or(record.progress.take());
                record.warnings.clone_from(&warnings);
                match record.finish(ending.clone(), now) {
                    Ok(()) => Verdict::Write(Some(record.clone())),
                    Err(_) => Verdict::Leave(None),
                }
            })
            .await;
        match written {
            Ok(Some(Some(record))) => {
                core.secrets.ended(&live.id, &record, core.options.keep);
                let event = match record.status {
                    Status::Completed => "EXECUTION_COMPLETED",
                    Status::Failed => "EXECUTION_FAILED",
                    _ => "EXECUTION_CANCELLED",
                };
                let why = live.why().map(super::live::Why::as_str);
                core.ledger.note(event, &live.id, &record, (why, None)).await;
                return tracing::info!(
                    execution = live.id,
                    status = record.status.as_str(),
                    "execution ended"
                );
            }
            Ok(_) => {
                return tracing::warn!(
                    execution = live.id,
                    "result discarded: another process has ended this execution as abandoned"
                );
            }
            Err(error) if begun.elapsed() < core.options.lease => {
                tracing::warn!(%error, execution = live.id, "cannot write the end of an execution yet");
                tokio::time::sleep(AGAIN).await;
            }
            Err(error) => {
                return tracing::error!(%error, execution = live.id, "cannot write the end of an execution");
            }
        }
    }
}
