//! Reads the messages of a stream, answers requests, starts tool calls, and tracks which operations return quickly.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::FusedFuture;
use mcp_aql_core::internal::operation::Cancellation;
use mcp_aql_core::internal::request::too_large;
use serde_json::value::RawValue;

use super::input::{Input, Line, Lines, MessageWait, while_writing};
use super::outbox::{AnswerTarget, BatchAnswers, Outbox};
use super::questions::ClientUser;
use crate::mcp::admission::{Lifecycle, RequestMeta};
use crate::mcp::answer::{RpcError, fail_with, respond_with, write_error};
use crate::mcp::cancel::Calls;
use crate::mcp::message::{
    Fault, LONG_BATCH, MAX_BATCH_MESSAGES, Message, Refusal, ToolCall, batch_ids, decode_message,
    too_long,
};
use crate::mcp::request_id::canonical_id;
use crate::mcp::server::Server;
use crate::mcp::tasks::{TaskProtocol, is_task_method};

/// Maximum duration of a brief call, as a multiple of the time needed to read its message. A fixed duration would
/// depend on the machine. Starting a task takes about as long as reading a message.
const MAX_BRIEF_RATIO: u32 = 16;
/// Number of calls to run as tasks after a long one.
const CALLS_AFTER_LONG: u32 = 64;

/// Reads lines, answers requests and starts calls.
pub(super) struct MessageReader {
    pub(super) server: Arc<Server>,
    pub(super) outbox: Outbox,
    pub(super) calls: Arc<Calls>,
    pub(super) operations: BriefOperations,
    /// The cancellation of a finished call. The next call reuses it.
    pub(super) unused_cancellation: Option<Cancellation>,
    /// The time at which the current message arrived.
    pub(super) message_started: Instant,
    /// The time at which the last call returned, if the next message is read right after it. It saves reading the clock
    /// again.
    pub(super) returned: Option<Instant>,
    /// If `true`, let other tasks run before the next message is read.
    pub(super) yields: bool,
    pub(super) lifecycle: Lifecycle,
    pub(super) user: Arc<ClientUser>,
}

impl MessageReader {
    pub(super) fn new(server: Arc<Server>, outbox: Outbox) -> Self {
        let user = Arc::new(ClientUser::new(outbox.clone()));
        Self {
            server,
            outbox,
            calls: Arc::default(),
            operations: BriefOperations::default(),
            unused_cancellation: None,
            message_started: Instant::now(),
            returned: None,
            yields: false,
            lifecycle: Lifecycle::default(),
            user,
        }
    }

    /// Reads messages until the end of the input. The writer is polled whenever this method waits.
    pub(super) async fn read_from(
        mut self,
        mut input: Input,
        mut writer: Pin<&mut impl FusedFuture<Output = ()>>,
    ) {
        let mut lines = Lines::new(self.server.settings().max_message_bytes);
        let mut wait = MessageWait::new();
        loop {
            self.returned = None;
            while let Some(line) = lines.next() {
                self.take_line(line);
                if std::mem::take(&mut self.yields) || self.outbox.is_long() {
                    while_writing(writer.as_mut(), tokio::task::yield_now()).await;
                    while_writing(writer.as_mut(), self.outbox.wait_for_capacity()).await;
                    self.returned = None;
                }
            }
            // Write all finished answers before reading more.
            while_writing(writer.as_mut(), self.outbox.wait_for_capacity()).await;
            let at_once = match &mut input.without_waiting {
                // Do not poll while calls run or answers are unwritten: a call may need this thread, and its answer
                // must be written first.
                Some(stream) if self.outbox.running() == 0 && self.outbox.is_empty() => {
                    wait.busy_poll(|| lines.read_at_once(stream).transpose())
                }
                _ => None,
            };
            let read = match at_once {
                Some(read) => read,
                None => {
                    let read = wait.sleep(lines.read_from(&mut input.stream));
                    while_writing(writer.as_mut(), read).await
                }
            };
            match read {
                Ok(true) => {}
                Ok(false) => {
                    lines.last().into_iter().for_each(|line| self.take_line(line));
                    return;
                }
                Err(error) => {
                    tracing::debug!(%error, "reading from the client failed");
                    return;
                }
            }
        }
    }

    fn take_line(&mut self, line: Line<'_>) {
        self.message_started = self.returned.take().unwrap_or_else(Instant::now);
        match line {
            Line::Whole(line) => self.take(line),
            Line::TooLong(recovered) => {
                let limit = self.server.limits().max_request_size;
                let error = too_large("request_size", limit, recovered.bytes, "bytes");
                self.answer_refusal(too_long(recovered, error), &self.line());
            }
        }
    }

    fn take(&mut self, line: &[u8]) {
        match decode_message(line) {
            Message::Batch(messages) if self.server.takes_batches() => {
                self.take_batch(&messages);
            }
            Message::Batch(messages) => {
                let ids = batch_ids(&messages);
                let refuse =
                    |id| self.answer_refusal(Refusal { id, fault: Fault::Form }, &self.line());
                if ids.is_empty() {
                    refuse(None);
                }
                ids.into_iter().map(Some).for_each(refuse);
            }
            message => self.take_one(message, &self.line()),
        }
    }

    /// Handles the messages of a batch concurrently. Their answers are sent together.
    fn take_batch(&mut self, messages: &[&RawValue]) {
        if messages.len() > MAX_BATCH_MESSAGES {
            return self.push(&self.line(), |line| fail_with(line, None, -32600, LONG_BATCH));
        }
        let answers = BatchAnswers::new(self.outbox.clone(), self.server.batch_budget());
        let answers = AnswerTarget::Batch(Arc::new(answers));
        for message in messages {
            self.take_one(decode_message(message.get().as_bytes()), &answers);
        }
    }

    fn take_one(&mut self, message: Message<'_>, answers: &AnswerTarget) {
        match message {
            Message::Call(call) => match self.lifecycle.admit_call(self.server.service(), &call) {
                Ok((meta, modern)) => match self.task_protocol(&call, &meta, modern, answers) {
                    Some(protocol) => self.call_with_tasks(protocol, &call, meta, answers),
                    None => self.start_call(call, meta, modern, answers),
                },
                Err(error) => self.error(Some(call.id), &error, answers),
            },
            Message::Request(request) if is_task_method(&request.method) => {
                self.take_task_request(&request, answers);
            }
            Message::Request(request) => {
                let server = Arc::clone(&self.server);
                match self.lifecycle.answer(&server, &request, answers.batch_budget()) {
                    Ok(result) => self.push(answers, |line| {
                        respond_with(line, request.id, |line| line.extend(result.bytes()));
                    }),
                    Err(error) => self.error(Some(request.id), &error, answers),
                }
            }
            Message::Cancelled { request } => {
                self.calls.cancel(&canonical_id(request));
            }
            Message::Answer { id, result } => self.user.answer(id, result),
            Message::Refused(refusal) => self.answer_refusal(refusal, answers),
            Message::Batch(_) => {
                self.answer_refusal(Refusal { id: None, fault: Fault::Form }, answers)
            }
            Message::Ignored | Message::Blank => {}
        }
    }

    /// Returns the task protocol for a call that may run as a task. Calls in a JSON-RPC batch never do.
    fn task_protocol(
        &self,
        call: &ToolCall<'_>,
        meta: &RequestMeta,
        modern: bool,
        answers: &AnswerTarget,
    ) -> Option<TaskProtocol> {
        if answers.batch_budget().is_some() {
            return None;
        }
        let operation = call.index.as_ref().map(|index| index.operation());
        self.server.task_protocol(call.task, meta, modern, operation)
    }

    /// Returns the target for answers sent as separate lines.
    fn line(&self) -> AnswerTarget {
        AnswerTarget::Line(self.outbox.clone())
    }

    fn answer_refusal(&self, refusal: Refusal, answers: &AnswerTarget) {
        let Refusal { id, fault } = refusal;
        // Do not answer invalid JSON: a client that echoes its input would cause an endless exchange.
        if id.is_none() && !matches!(fault, Fault::Form) {
            return tracing::debug!(?fault, "a message without an id is not answered");
        }
        match (self.server.refuse_message(fault, None), id) {
            (Err(error), id) => self.error(id.as_deref(), &error, answers),
            (answer, Some(id)) => {
                // The version of a message that cannot be decoded is unknown.
                let modern = !self.lifecycle.has_handshake;
                self.push(answers, |line| self.server.write_answer(line, &id, &answer, modern));
            }
            (Ok(_), None) => tracing::debug!("a call without an id is not answered"),
        }
    }

    pub(super) fn error(&self, id: Option<&str>, error: &RpcError, answers: &AnswerTarget) {
        self.push(answers, |line| write_error(line, id, error));
    }

    pub(super) fn push(&self, answers: &AnswerTarget, write: impl FnOnce(&mut Vec<u8>)) {
        if let Err(error) = answers.push_in_writer_task(write) {
            tracing::debug!(%error, "an answer was not sent: the client is gone");
        }
    }
}

impl Drop for MessageReader {
    fn drop(&mut self) {
        self.user.leave();
    }
}

/// The durations of the operations called on one connection.
///
/// A brief call runs in the task that reads messages, because that saves the start of another task: with tasks alone, an
/// adapter answered 104,000 calls per second instead of 235,000. However, a call
/// that blocks its thread would delay all later messages and answers. Therefore an operation only counts as brief after
/// one of its calls has run as a task and returned quickly.
#[derive(Debug, Default)]
pub(super) struct BriefOperations(Vec<OperationPace>);

/// Determines how to run calls of one operation.
#[derive(Debug, Clone)]
pub(super) struct OperationPace {
    /// Number of calls to run as tasks before the next one is measured. 0 if the operation is brief.
    calls_as_tasks: Arc<AtomicU32>,
}

impl BriefOperations {
    /// Returns the pace of the operation with this index.
    pub(super) fn pace(&mut self, operation: usize) -> OperationPace {
        if let Some(pace) = self.0.get(operation) {
            return pace.clone();
        }
        self.0.resize_with(operation + 1, OperationPace::new);
        self.0.last().cloned().unwrap_or_else(OperationPace::new)
    }
}

impl OperationPace {
    fn new() -> Self {
        Self { calls_as_tasks: Arc::new(AtomicU32::new(1)) }
    }

    /// Returns `true` if calls of the operation are brief.
    pub(super) fn is_brief(&self) -> bool {
        self.calls_as_tasks.load(Ordering::Relaxed) == 0
    }

    /// Counts a call that runs as a task. Returns `true` if the call should be measured.
    pub(super) fn count_task(&self) -> bool {
        let left = self.calls_as_tasks.load(Ordering::Relaxed);
        if left > 1 {
            self.calls_as_tasks.store(left - 1, Ordering::Relaxed);
        }
        left == 1
    }

    /// Records how long the first poll of a call took, compared with the time to read its message.
    pub(super) fn record(&self, polling: Duration, reading: Duration) {
        let calls = if polling <= reading * MAX_BRIEF_RATIO { 0 } else { CALLS_AFTER_LONG };
        self.calls_as_tasks.store(calls, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn an_operation_is_brief_after_a_short_call() {
        let mut operations = BriefOperations::default();
        let pace = operations.pace(7);
        assert!(!pace.is_brief());
        assert!(pace.count_task());
        pace.record(MICROSECOND * MAX_BRIEF_RATIO, MICROSECOND);
        assert!(operations.pace(7).is_brief());
        assert!(!operations.pace(6).is_brief() && !operations.pace(8).is_brief());
    }

    #[test]
    fn a_long_call_is_followed_by_tasks() {
        let pace = OperationPace::new();
        pace.record(MICROSECOND, MICROSECOND);
        assert!(pace.is_brief());
        pace.record(MICROSECOND * (MAX_BRIEF_RATIO + 1), MICROSECOND);
        let measured = (0..CALLS_AFTER_LONG).filter(|_| pace.count_task()).count();
        assert!(!pace.is_brief());
        assert_eq!(measured, 1, "the last of them is measured");
    }
}
