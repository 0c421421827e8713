//! Reads the messages of a stream and starts its calls.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use mcp_aql_core::request::{Arguments, parse, too_large};
use mcp_aql_core::sync::lock;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions as _, RequestMetaObject};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::super::calls::{Calls, cancelled_request};
use super::super::original_message::OriginalMessage;
use super::super::progress::Notifier;
use super::super::request_meta::{is_newest, read_meta};
use super::super::rpc_error::RpcError;
use super::super::server::{Server, catch_panics};
use super::super::wire::{
    Fault, IdScanner, LONG_BATCH, Line, Lines, MAX_BATCH_MESSAGES, Message, Outbox, Refusal,
    ToolCall, batch_ids, canonical_id, decode, fail_with, request_id, respond_with, splice,
    too_long, write_error,
};
use super::Reader;
use super::answer_target::{AnswerTarget, BatchAnswers};
use super::rmcp_transport::{Handshake, PendingRequest};

/// How long to poll for the next message after one was handled. A program that calls one operation
/// after another sends it at once, and waking a processor that has just gone to sleep takes longer
/// than a call.
const BUSY_POLL_DURATION: Duration = Duration::from_micros(100);

/// Awaits a future, busy-polling for the first `watched` interval.
async fn busy_poll<F: Future>(future: F, watched: Duration) -> F::Output {
    let mut future = std::pin::pin!(future);
    let begun = Instant::now();
    loop {
        if let Poll::Ready(output) = futures_util::poll!(future.as_mut()) {
            return output;
        }
        if begun.elapsed() >= watched {
            return future.await;
        }
        tokio::task::yield_now().await;
    }
}

/// Reads lines and starts calls.
pub(super) struct MessageReader {
    pub(super) server: Arc<Server>,
    pub(super) outbox: Outbox,
    pub(super) handshake: Arc<Handshake>,
    pub(super) calls: Arc<Calls>,
    pub(super) rest: mpsc::Sender<ClientJsonRpcMessage>,
    pub(super) longest: usize,
}

impl MessageReader {
    pub(super) async fn read_from(self, reader: Reader) {
        let mut lines = Lines::new(reader, self.longest);
        let mut watched = Duration::ZERO;
        loop {
            self.outbox.room().await;
            let next = busy_poll(lines.next(), watched).await;
            watched = BUSY_POLL_DURATION;
            match next {
                Ok(Line::Whole(line)) => self.take(line).await,
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

    async fn take(&self, line: &[u8]) {
        match decode(line) {
            Message::Batch(messages) if self.server.takes_batches() => {
                self.take_batch(messages).await;
            }
            Message::Batch(messages) => {
                let ids = batch_ids(&messages);
                let refuse = |id| self.refuse(Refusal { id, fault: Fault::Form }, &self.line());
                if ids.is_empty() {
                    refuse(None);
                }
                ids.into_iter().map(Some).for_each(refuse);
            }
            message => self.take_one(message, line, &self.line()).await,
        }
    }

    /// Handles the messages of a batch concurrently. Their answers are sent together.
    async fn take_batch(&self, messages: Vec<&RawValue>) {
        if messages.len() > MAX_BATCH_MESSAGES {
            return self.fail(None, -32600, LONG_BATCH, &self.line());
        }
        let answers = BatchAnswers::new(self.outbox.clone(), self.server.batch_budget());
        let answers = AnswerTarget::Batch(Arc::new(answers));
        for message in messages {
            let text = message.get().as_bytes();
            self.take_one(decode(text), text, &answers).await;
        }
    }

    async fn take_one(&self, message: Message<'_>, line: &[u8], answers: &AnswerTarget) {
        match message {
            Message::Call(call) => match self.meta(call.meta) {
                Some((meta, modern)) => self.call(call, meta, modern, answers),
                None => self.pass_on(line, answers).await,
            },
            Message::List { id, meta } => match self.meta(meta) {
                Some((_, modern)) => match self.server.listed(modern, answers.room()) {
                    Ok(list) => self.push(answers, |line| {
                        respond_with(line, id, |line| line.extend(list.bytes()));
                    }),
                    Err(error) => self.error(Some(id), &error, answers),
                },
                None => self.pass_on(line, answers).await,
            },
            Message::Cancelled { request } => {
                for number in self.calls.cancel(&canonical_id(request)) {
                    let removed = lock(&self.handshake.pending).remove(&number);
                    // Before the handshake, rmcp would close the connection.
                    if removed.is_some() && self.handshake.begun.load(Ordering::Relaxed) {
                        self.send(cancelled_request(number)).await;
                    }
                }
            }
            Message::Other => self.pass_on(line, answers).await,
            Message::Refused(refusal) => self.refuse(refusal, answers),
            Message::Batch(_) => self.refuse(Refusal { id: None, fault: Fault::Form }, answers),
            Message::Blank => {}
        }
    }

    /// Sends answers as separate lines.
    fn line(&self) -> AnswerTarget {
        AnswerTarget::Line(self.outbox.clone())
    }

    /// Returns a request's `_meta`, and whether the request follows MCP 2026-07-28. Returns `None`
    /// if rmcp has to judge the version.
    fn meta(&self, json: Option<&RawValue>) -> Option<(RequestMetaObject, bool)> {
        let meta = read_meta(json)?;
        if meta.protocol_version().is_none() {
            return self.handshake.done.load(Ordering::Acquire).then_some((meta, false));
        }
        is_newest(&meta).then_some((meta, true))
    }

    /// Starts a call. Its answer is sent when it is complete.
    fn call(
        &self,
        call: ToolCall<'_>,
        meta: RequestMetaObject,
        modern: bool,
        answers: &AnswerTarget,
    ) {
        let Some(tool) = self.server.tools().index(&call.name) else {
            let unknown = self.server.service().unknown_tool(&call.name);
            return self.error(Some(call.id), &unknown, answers);
        };
        let cancellation = self.server.cancellation();
        let key: Box<str> = canonical_id(call.id).into();
        let number = self.calls.begin(&key, cancellation.clone());
        let expected = self.outbox.expect_one();
        let id: Box<str> = call.id.into();
        let arguments = call.arguments.map(Box::<str>::from);
        let (server, calls, outbox) =
            (Arc::clone(&self.server), Arc::clone(&self.calls), self.outbox.clone());
        let answers = answers.clone();
        tokio::spawn(async move {
            let arguments = match arguments {
                Some(json) => parse(json.as_bytes(), server.limits()),
                None => Ok(Arguments::default()),
            };
            let notifier = Notifier::Outbox(outbox);
            let work = server.reply(tool, arguments, &meta, notifier, cancellation);
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

    /// Passes a message to rmcp. The id of a request is replaced with a number.
    async fn pass_on(&self, line: &[u8], answers: &AnswerTarget) {
        let numbered = request_id(line).and_then(|id| {
            let request = PendingRequest { id: canonical_id(id).into(), answers: answers.clone() };
            let number = self.calls.begin(&request.id, self.server.cancellation());
            Some((number, request, splice(line, id, &number.to_string())?))
        });
        let text = numbered.as_ref().map_or(line, |(_, _, text)| text);
        match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
            Ok(mut message) => {
                if let ClientJsonRpcMessage::Request(request) = &mut message {
                    let sent = OriginalMessage::line(line, answers.room());
                    request.request.extensions_mut().insert(sent);
                    use ClientRequest::{DiscoverRequest, PingRequest};
                    if !matches!(request.request, PingRequest(_) | DiscoverRequest(_)) {
                        self.handshake.begun.store(true, Ordering::Relaxed);
                    }
                    if let Some((number, request, _)) = numbered {
                        lock(&self.handshake.pending).insert(number, request);
                    }
                } else {
                    // rmcp has read an answer, although the message has a method as well.
                    if let Some((number, request, _)) = &numbered {
                        self.calls.end(&request.id, *number);
                    }
                    if !self.handshake.begun.load(Ordering::Relaxed) {
                        // rmcp would end the connection.
                        tracing::debug!("ignored a message before the handshake");
                        return;
                    }
                }
                self.send(message).await;
            }
            Err(_) => {
                if let Some((number, request, _)) = &numbered {
                    self.calls.end(&request.id, *number);
                }
                self.refuse(Refusal { id: IdScanner::of(line).id, fault: Fault::Form }, answers);
            }
        }
    }

    async fn send(&self, message: ClientJsonRpcMessage) {
        if self.rest.send(message).await.is_err() {
            tracing::debug!("a message came after the end");
        }
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
                let modern = !self.handshake.done.load(Ordering::Acquire);
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
