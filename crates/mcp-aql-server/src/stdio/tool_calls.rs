//! Starts the tool calls of a stream. Calls of operations that return quickly run in the task that reads messages.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use mcp_aql_core::internal::caller::{CallOrigin, TransportKind};
use mcp_aql_core::internal::operation::{CallScope, Cancellation};
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::transport::Elicitation;

use super::outbox::AnswerTarget;
use super::reader::{MessageReader, OperationPace};
use crate::mcp::admission::{RequestMeta, describe_call};
use crate::mcp::answer::RpcError;
use crate::mcp::elicitation;
use crate::mcp::message::ToolCall;
use crate::mcp::request_id::canonical_id;
use crate::mcp::service::ToolWork;

/// A running call.
struct ToolCallTask {
    /// The request's id, in its original spelling.
    id: Arc<str>,
    work: ToolWork,
    /// The pace of the operation and the time needed to read the message, if the call should be measured.
    measured: Option<(OperationPace, Duration)>,
    cancellation: Cancellation,
    /// If `true`, the call follows MCP 2026-07-28.
    modern: bool,
}

impl MessageReader {
    /// Runs a call of a brief operation immediately, and starts other calls as tasks. The answer is sent when the call
    /// has finished.
    pub(super) fn start_call(
        &mut self,
        mut call: ToolCall<'_>,
        meta: RequestMeta,
        modern: bool,
        answers: &AnswerTarget,
    ) {
        let cancellation = self.unused_cancellation();
        let (tool, scope) = match self.tool_and_scope(&call, &meta, modern, &cancellation) {
            Ok(begun) => begun,
            Err(error) => return self.error(Some(call.id), &error, answers),
        };
        let indexed = call.index.take().filter(|_| answers.batch_budget().is_none());
        let mut work = match indexed.map(Arguments::from) {
            Some(arguments) if meta.progress_token(&arguments).is_none() => {
                self.server.begin_call(tool, arguments.for_quoted_reply(), &meta, scope)
            }
            _ => self.later(tool, call.arguments, meta, scope, answers),
        };
        let pace = work.operation.map(|operation| self.operations.pace(operation.index));
        let started = Instant::now();
        let reading = started - self.message_started;
        // A call that blocks its thread also blocks the writer, and would delay the answers of running calls.
        let is_alone = self.outbox.running() == 0;
        if let Some(pace) = pace.as_ref().filter(|pace| is_alone && pace.is_brief()) {
            // If the call is pending, its task polls it again and registers the real waker.
            let mut context = Context::from_waker(Waker::noop());
            let polled = work.poll_unpin(&mut context);
            let returned = Instant::now();
            pace.record(returned - started, reading);
            self.returned = Some(returned);
            if let Poll::Ready(answer) = polled {
                self.unused_cancellation = Some(cancellation);
                return self.push(answers, |line| {
                    self.server.write_answer(line, call.id, &answer, modern);
                });
            }
        }
        // Calls only run here once all running ones have returned. Those may need this thread.
        self.yields |= !is_alone && pace.as_ref().is_some_and(OperationPace::is_brief);
        let measured = pace.filter(OperationPace::count_task).map(|pace| (pace, reading));
        // After the measurement, the next call of this operation may already be brief.
        self.yields |= measured.is_some();
        let call = ToolCallTask { id: call.id.into(), work, measured, cancellation, modern };
        self.spawn(call, answers);
    }

    /// Returns the tool of a call, and the scope to run it in.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool is unknown, or if the answers in a repeated call are malformed.
    pub(super) fn tool_and_scope(
        &self,
        call: &ToolCall<'_>,
        meta: &RequestMeta,
        modern: bool,
        cancellation: &Cancellation,
    ) -> Result<(usize, CallScope), RpcError> {
        let tool = self.server.tool_index(&call.name)?;
        let elicitation = match modern {
            true => elicitation::of_call(call, meta)?,
            false => self.waiting_user(),
        };
        let scope = CallScope { elicitation, ..cancellation.clone().into() };
        Ok((tool, CallScope { origin: self.origin(call), ..scope }))
    }

    /// Returns the origin of a call. Returns `None` if calls are neither traced nor logged.
    fn origin(&self, call: &ToolCall<'_>) -> Option<Arc<CallOrigin>> {
        self.server.service().records_origins().then(|| {
            let mut origin = CallOrigin::default();
            origin.transport = Some(TransportKind::Pipe);
            origin.protocol_version = self.lifecycle.version;
            describe_call(&mut origin, call.id, &call.name);
            Arc::new(origin)
        })
    }

    /// Returns the user of a client initialized with `initialize`, if the client can show questions.
    pub(super) fn waiting_user(&self) -> Option<Elicitation> {
        let asks = self.server.connection().takes_questions();
        asks.then(|| Elicitation::Waiting(Arc::clone(&self.user) as _))
    }

    /// Returns a cancellation for the next call. Reuses that of the last call if that call returned immediately and
    /// kept no reference to it.
    fn unused_cancellation(&mut self) -> Cancellation {
        let last = self.unused_cancellation.take();
        last.and_then(|mut last| last.is_unused().then_some(last)).unwrap_or_default()
    }

    /// Returns the work of a call that parses its arguments in its first poll, because parsing a large request takes
    /// long.
    fn later(
        &self,
        tool: usize,
        arguments: Option<&str>,
        meta: RequestMeta,
        scope: CallScope,
        answers: &AnswerTarget,
    ) -> ToolWork {
        let (server, outbox) = (Arc::clone(&self.server), self.outbox.clone());
        let arguments: Option<Box<str>> = arguments.map(Box::from);
        let budget = answers.batch_budget().cloned();
        let work = erased(async move {
            let arguments = Arguments::read(arguments.as_deref(), server.limits());
            let arguments = match budget {
                // The answers to a batch share a size limit. It applies to the plain form.
                Some(_) => arguments,
                None => arguments.map(Arguments::for_quoted_reply),
            };
            let work = pin!(server.reply(tool, arguments, &meta, &outbox, scope));
            server.within(budget.as_ref(), None, work).await
        });
        work.into()
    }

    /// Runs a call as a tokio task.
    fn spawn(&self, call: ToolCallTask, answers: &AnswerTarget) {
        let ToolCallTask { id, mut work, mut measured, cancellation, modern } = call;
        let work = poll_fn(move |context| match measured.take() {
            Some((pace, reading)) => {
                let started = Instant::now();
                let polled = work.poll_unpin(context);
                pace.record(started.elapsed(), reading);
                polled
            }
            None => work.poll_unpin(context),
        });
        let server = Arc::clone(&self.server);
        self.spawn_request(id, cancellation, answers, work, move |line, id, answer| {
            server.write_answer(line, id, &answer, modern);
        });
    }

    /// Runs a request as a tokio task. Its answer is sent unless the client cancels the request.
    pub(super) fn spawn_request<T: Send>(
        &self,
        id: Arc<str>,
        cancellation: Cancellation,
        answers: &AnswerTarget,
        answer: impl Future<Output = T> + Send + 'static,
        write: impl FnOnce(&mut Vec<u8>, &str, T) + Send + 'static,
    ) {
        let key = match canonical_id(&id) {
            Cow::Borrowed(_) => Arc::clone(&id),
            Cow::Owned(key) => key.into(),
        };
        let number = self.calls.begin(&key, cancellation);
        let (expected, calls) = (self.outbox.expect_one(), Arc::clone(&self.calls));
        let answers = answers.clone();
        tokio::spawn(async move {
            let answer = answer.await;
            if !calls.end(&key, number) {
                return;
            }
            if let Err(error) = answers.push(expected, |line| write(line, &id, answer)) {
                tracing::debug!(%error, "an answer was not sent: the client is gone");
            }
        });
    }
}
