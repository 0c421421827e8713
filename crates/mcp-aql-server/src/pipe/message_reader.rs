//! Reads the messages of a stream and starts its calls.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use mcp_aql_core::future::poll_once;
use mcp_aql_core::request::{Arguments, parse, too_large};
use serde_json::value::RawValue;

use super::Reader;
use super::answer_target::{AnswerTarget, BatchAnswers};
use super::lifecycle::{Lifecycle, discover};
use crate::calls::Calls;
use crate::mcp_version::WITH_BATCHES;
use crate::request_meta::RequestMeta;
use crate::rpc_error::RpcError;
use crate::server::{Server, catch_panics};
use crate::wire::{
    Fault, LONG_BATCH, Line, Lines, MAX_BATCH_MESSAGES, MalformedCall, Message, OtherRequest,
    Outbox, REPEATED_MEMBER, Refusal, ToolCall, batch_ids, canonical_id, decode, fail_with,
    respond_with, too_long, write_error,
};

/// How long to poll for the next message after one was handled. A program that calls one operation
/// after another sends it at once, and waking a processor that has just gone to sleep takes longer
/// than a call.
const BUSY_POLL_DURATION: Duration = Duration::from_micros(100);

/// The error message for malformed parameters of a request other than a call.
const MALFORMED_PARAMS: &str =
    "'params' is an object whose '_meta' is an object, and neither repeats a member";

/// Awaits a future, busy-polling for the first `watched` interval.
async fn busy_poll<F: Future>(future: F, watched: Duration) -> F::Output {
    let mut future = std::pin::pin!(future);
    let begun = Instant::now();
    loop {
        if let Poll::Ready(output) = poll_once(&mut future).await {
            return output;
        }
        if begun.elapsed() >= watched {
            return future.await;
        }
        tokio::task::yield_now().await;
    }
}

/// Reads lines, answers requests and starts calls.
pub(super) struct MessageReader {
    server: Arc<Server>,
    outbox: Outbox,
    calls: Arc<Calls>,
    lifecycle: Lifecycle,
}

impl MessageReader {
    pub(super) fn new(server: Arc<Server>, outbox: Outbox) -> Self {
        Self { server, outbox, calls: Arc::default(), lifecycle: Lifecycle::default() }
    }

    pub(super) async fn read_from(mut self, reader: Reader) {
        let mut lines = Lines::new(reader, self.server.service().max_message_bytes());
        let mut watched = Duration::ZERO;
        loop {
            self.outbox.room().await;
            let next = busy_poll(lines.next(), watched).await;
            watched = BUSY_POLL_DURATION;
            match next {
                Ok(Line::Whole(line)) => self.take(line),
                Ok(Line::TooLong(recovered)) => {
                    let limit = self.server.limits().max_request_size;
                    let error = too_large("request_size", limit, recovered.bytes, "bytes");
                    self.refuse(too_long(recovered, error), &self.line());
                }
                Ok(Line::End) => return,
                Err(error) => {
                    tracing::debug!(%error, "reading from the client failed");
                    return;
                }
            }
        }
    }

    fn take(&mut self, line: &[u8]) {
        match decode(line) {
            Message::Batch(messages) if self.server.takes_batches() => {
                self.take_batch(&messages);
            }
            Message::Batch(messages) => {
                let ids = batch_ids(&messages);
                let refuse = |id| self.refuse(Refusal { id, fault: Fault::Form }, &self.line());
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
            return self.fail(None, -32600, LONG_BATCH, &self.line());
        }
        let answers = BatchAnswers::new(self.outbox.clone(), self.server.batch_budget());
        let answers = AnswerTarget::Batch(Arc::new(answers));
        for message in messages {
            self.take_one(decode(message.get().as_bytes()), &answers);
        }
    }

    fn take_one(&mut self, message: Message<'_>, answers: &AnswerTarget) {
        match message {
            Message::Call(call) => match self.admit_call(&call) {
                Ok((meta, modern)) => self.call(call, meta, modern, answers),
                Err(error) => self.error(Some(call.id), &error, answers),
            },
            Message::Request(request) => {
                let server = Arc::clone(&self.server);
                match self.result(&server, &request, answers) {
                    Ok(result) => self.push(answers, |line| {
                        respond_with(line, request.id, |line| line.extend(result.bytes()));
                    }),
                    Err(error) => self.error(Some(request.id), &error, answers),
                }
            }
            Message::Cancelled { request } => {
                self.calls.cancel(&canonical_id(request));
            }
            Message::Refused(refusal) => self.refuse(refusal, answers),
            Message::Batch(_) => self.refuse(Refusal { id: None, fault: Fault::Form }, answers),
            Message::Ignored | Message::Blank => {}
        }
    }

    /// Sends answers as separate lines.
    fn line(&self) -> AnswerTarget {
        AnswerTarget::Line(self.outbox.clone())
    }

    /// Returns a call's `_meta`, and whether the call follows MCP 2026-07-28.
    fn admit_call(&self, call: &ToolCall<'_>) -> Result<(RequestMeta, bool), RpcError> {
        let Some(meta) = RequestMeta::read(call.meta) else {
            return Err(match call.meta.map(RawValue::get) {
                Some(meta) if !meta.starts_with('{') => {
                    let reason = "Must be an object".to_owned();
                    let malformed = MalformedCall { field: "_meta", reason };
                    self.server.service().malformed_call(&malformed)
                }
                _ => RpcError::new(-32602, REPEATED_MEMBER),
            });
        };
        let admitted = self.lifecycle.admit("tools/call", &meta)?;
        Ok((meta, admitted.modern))
    }

    /// Returns the result of a request other than a call, as JSON.
    fn result<'a>(
        &mut self,
        server: &'a Server,
        request: &OtherRequest<'_>,
        answers: &AnswerTarget,
    ) -> Result<Cow<'a, str>, RpcError> {
        let method = &*request.method;
        if method == "initialize" {
            let (version, result) =
                self.lifecycle.initialize(request.params, server.description())?;
            server.connection().negotiated(version == WITH_BATCHES);
            return Ok(result.into());
        }
        let meta = request.meta().ok().and_then(RequestMeta::read);
        let meta = meta.ok_or_else(|| RpcError::new(-32602, MALFORMED_PARAMS))?;
        let admitted = self.lifecycle.admit(method, &meta)?;
        match method {
            "ping" if admitted.legacy => Ok("{}".into()),
            "server/discover" if !admitted.legacy => Ok(discover(server.description()).into()),
            "tools/list" => server.listed(admitted.modern, answers.room()).map(Cow::Borrowed),
            _ => Err(RpcError::new(-32601, method.to_owned())),
        }
    }

    /// Starts a call. Its answer is sent when it is complete.
    fn call(&self, call: ToolCall<'_>, meta: RequestMeta, modern: bool, answers: &AnswerTarget) {
        let Some(tool) = self.server.tools().index(&call.name) else {
            let unknown = self.server.service().unknown_tool(&call.name);
            return self.error(Some(call.id), &unknown, answers);
        };
        let cancellation = self.server.cancellation();
        let id: Arc<str> = call.id.into();
        let key = match canonical_id(call.id) {
            Cow::Borrowed(_) => Arc::clone(&id),
            Cow::Owned(key) => key.into(),
        };
        let number = self.calls.begin(&key, cancellation.clone());
        let expected = self.outbox.expect_one();
        let arguments = call.arguments.map(Box::<str>::from);
        let (server, calls, outbox) =
            (Arc::clone(&self.server), Arc::clone(&self.calls), self.outbox.clone());
        let answers = answers.clone();
        tokio::spawn(async move {
            let arguments = match arguments {
                Some(json) => parse(json.as_bytes(), server.limits()),
                None => Ok(Arguments::default()),
            };
            let work = pin!(server.reply(tool, arguments, &meta, &outbox, cancellation));
            let answer = catch_panics(server.within(answers.room(), work)).await;
            if calls.end(&key, number) {
                let pushed = answers.push(Some(expected), |line| {
                    server.write_answer(line, &id, &answer, modern);
                });
                if let Err(error) = pushed {
                    tracing::debug!(%error, "an answer was not sent: the client is gone");
                }
            }
        });
    }

    fn refuse(&self, refusal: Refusal, answers: &AnswerTarget) {
        let Refusal { id, fault } = refusal;
        // Answering invalid JSON could cause an endless exchange with a client that echoes its
        // input.
        if id.is_none() && !matches!(fault, Fault::Form) {
            return tracing::debug!(?fault, "a message without an id is not answered");
        }
        match (self.server.refuse_message(fault), id) {
            (Err(error), id) => self.error(id.as_deref(), &error, answers),
            (answer, Some(id)) => {
                let modern = !self.lifecycle.has_handshake;
                self.push(answers, |line| self.server.write_answer(line, &id, &answer, modern));
            }
            (Ok(_), None) => tracing::debug!("a call without an id is not answered"),
        }
    }

    fn error(&self, id: Option<&str>, error: &RpcError, answers: &AnswerTarget) {
        self.push(answers, |line| write_error(line, id, error));
    }

    fn fail(&self, id: Option<&str>, code: i32, message: &str, answers: &AnswerTarget) {
        self.push(answers, |line| fail_with(line, id, code, message));
    }

    fn push(&self, answers: &AnswerTarget, write: impl FnOnce(&mut Vec<u8>)) {
        if let Err(error) = answers.push(None, write) {
            tracing::debug!(%error, "an answer was not sent: the client is gone");
        }
    }
}
