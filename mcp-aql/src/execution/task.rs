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

/// The store hears of progress at most so often; those who wait in this process hear all of it.
const PACE: Duration = Duration::from_millis(500);
/// How long a function may take to be dropped. One that never waits for anything cannot be.
const DROPPED: Duration = Duration::from_secs(1);
/// Between two tries to write how an execution ended.
const AGAIN: Duration = Duration::from_millis(500);

/// What an execution does: waits for its turn, says that it begins, and calls the function.
pub(crate) type Work =
    Box<dyn FnOnce(ExecutionContext, Begin) -> BoxFuture<'static, Outcome> + Send>;

/// Says that an execution's turn has come.
pub(crate) struct Begin {
    core: Arc<Core>,
    live: Arc<Live>,
}

impl Begin {
    /// Moves the execution to `running`, if it may still begin.
    pub(crate) async fn tell(self) -> Result<(), OperationError> {
        let Self { core, live } = self;
        if live.news.borrow().status == Status::Running {
            return Ok(());
        }
        if !live.decide() {
            return Err(OperationError::internal("it was stopped before its turn had come"));
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

/// Where the function's progress goes.
struct Sink {
    core: Arc<Core>,
    live: Arc<Live>,
    /// When the store last heard of it from here.
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
                // Lets others run beside a function that tells much and never waits.
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

/// Takes an execution off the list however its task ends, and makes room for another one.
struct Listed<'a>(&'a Core, &'a Live, Option<Room>);

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        // First: whoever hears of the end may begin another one.
        self.2 = None;
        self.0.lives.remove(self.1);
    }
}

/// A task that is dropped with whoever waits for it.
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

    /// Ends it for good.
    async fn dropped(mut self) {
        self.0.abort();
        if tokio::time::timeout(DROPPED, &mut self.0).await.is_err() {
            tracing::warn!("a function does not let itself be dropped: it waits for nothing");
        }
    }
}

/// How a function came to its end.
enum Over {
    By(Outcome),
    Dropped,
    Fenced,
}

/// Runs an execution from its first step to its last.
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
    // A function that has seen that it should stop has done what it wanted to do before that, and no
    // more; one that has not looked has done all of it.
    let stopped = live.why().is_some() && execution.has_noticed();
    let ending = match over {
        Over::Fenced => {
            return tracing::warn!(
                execution = live.id,
                "stopped: another process has taken it for abandoned"
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
    // One whose turn has not come has nothing to bring to an end.
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

/// The `data` of a reply.
fn data(payload: Payload) -> Result<Box<RawValue>, OperationError> {
    let text = payload.into_text();
    let data = text.strip_prefix(SUCCESS).unwrap_or(&text).to_owned();
    RawValue::from_string(data).map_err(OperationError::internal)
}

/// Tells the log why an execution failed, as of any call.
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

/// Writes how it ended, once. A store that fails is asked again as long as the lease may last.
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
                    "what came of it is not kept: another process has taken it for abandoned"
                );
            }
            Err(error) if begun.elapsed() < core.options.lease => {
                tracing::warn!(%error, execution = live.id, "how it ended cannot be kept yet");
                tokio::time::sleep(AGAIN).await;
            }
            Err(error) => {
                return tracing::error!(%error, execution = live.id, "how it ended is not kept");
            }
        }
    }
}
