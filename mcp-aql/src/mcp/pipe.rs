//! Serves one client over a pair of streams.
//!
//! Tool calls, which are nearly all messages, are decoded here and run as separate tasks. Their
//! answers are collected and written together. All other messages go through rmcp: the handshake,
//! `ping`, `server/discover`, and future requests.

use std::collections::HashMap;
use std::future::{Future, Ready, ready};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use rmcp::ServiceExt as _;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions as _, RequestId, RequestMetaObject,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::batch_budget::BatchBudget;
use super::calls::{Calls, cancelled_request};
use super::connection::Connection;
use super::progress::Notifier;
use super::rpc_error::RpcError;
use super::server::{OriginalMessage, Server, ServerState, catch_panics, is_newest, read_meta};
use super::service::ToolService;
use super::wire::{
    Fault, IdScanner, LONG_BATCH, Line, Lines, MAX_BATCH_MESSAGES, Message, Outbox, PendingAnswer,
    Refusal, ToolCall, batch_ids, canonical_id, decode, fail_with, request_id, respond_with,
    splice, too_long, write_error,
};
use crate::future::BoxFuture;
use crate::future::erased;
use crate::main_error::{Error, Result};
use crate::request::{Arguments, parse, too_large};
use crate::sync::lock;

/// How long writes that have begun may run after that.
const WRITE_GRACE_PERIOD: Duration = Duration::from_secs(5);
/// The capacity of the queue to rmcp, in messages.
const RMCP_QUEUE_CAPACITY: usize = 64;

/// The reading half of a stream.
pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// The writing half of a stream.
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves one client until it disconnects, or until `stop` completes.
pub(super) fn serve_halves(
    service: Arc<dyn ToolService>,
    read: Reader,
    write: Writer,
    stop: BoxFuture<'static, ()>,
) -> BoxFuture<'static, Result> {
    erased(serve(service, read, write, stop))
}

async fn serve(
    service: Arc<dyn ToolService>,
    read: Reader,
    write: Writer,
    stop: BoxFuture<'static, ()>,
) -> Result {
    service.begin();
    let connection = Arc::new(Connection::lasting());
    let _end = EndOnDrop(Arc::clone(&connection));
    let server =
        Arc::new(Server::new(ServerState::new(Arc::clone(&service)), Arc::clone(&connection)));
    let outbox = Outbox::default();
    let handshake = Arc::new(Handshake::default());
    let (rest, incoming) = mpsc::channel(RMCP_QUEUE_CAPACITY);
    let calls = Arc::<Calls>::default();
    let transport = RmcpTransport {
        incoming,
        outbox: outbox.clone(),
        handshake: Arc::clone(&handshake),
        calls: Arc::clone(&calls),
    };
    let gone = CancellationToken::new();
    let writer = AbortOnDrop(tokio::spawn({
        let (outbox, gone) = (outbox.clone(), gone.clone());
        async move {
            if let Err(error) = outbox.write_to(write).await {
                tracing::debug!(%error, "the client no longer reads");
            }
            gone.cancel();
        }
    }));
    let pipe = Pipe {
        server: Arc::clone(&server),
        outbox: outbox.clone(),
        handshake,
        calls,
        rest,
        longest: service.max_message_bytes(),
    };
    let ended = CancellationToken::new();
    let reader = AbortOnDrop(tokio::spawn({
        let (gone, ended) = (gone.clone(), ended.clone());
        async move {
            let _ended = ended.drop_guard();
            tokio::select! {
                () = pipe.read_from(read) => {}
                () = gone.cancelled() => {}
            }
        }
    }));

    let others = async {
        let running = match Arc::clone(&server).serve(transport).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                return Ok(());
            }
            Err(error) => return Err(Error::transport(error)),
        };
        running.waiting().await.map(|_reason| ()).map_err(Error::transport)
    };
    tokio::pin!(others);
    let over = tokio::select! {
        // Without a handshake there is nothing to serve. rmcp also ends once the client's last
        // message was read, slightly before `ended` completes.
        outcome = &mut others => Some(outcome),
        () = ended.cancelled() => None,
        // Requests that were read before the signal are answered as at the end of input.
        () = stop => None,
    };
    drop(reader);
    // The last answers may still be pending. rmcp would let its calls run for five more seconds
    // before reporting them.
    let idle = async {
        let outcome = match over {
            Some(outcome) => outcome,
            None => others.await,
        };
        outbox.idle().await;
        outcome
    };
    tokio::pin!(idle);
    let outcome = match tokio::time::timeout(service.drain_timeout(), &mut idle).await {
        Ok(outcome) => outcome,
        Err(_) => {
            connection.end();
            tokio::time::timeout(WRITE_GRACE_PERIOD, idle).await.unwrap_or(Ok(()))
        }
    };
    connection.end();
    outbox.close();
    // A client that no longer reads would block this indefinitely.
    let _ = tokio::time::timeout(WRITE_GRACE_PERIOD, writer.done()).await;
    // The session's executions, agents and tokens end, and the store and the audit log record it
    // before the process exits (REQ-LIF-10, REQ-SES-02, REQ-TOK-16).
    service.end_sessions().await;
    outcome
}

/// Ends the session together with the connection, even if the future is dropped.
struct EndOnDrop(Arc<Connection>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A task that is aborted on drop.
struct AbortOnDrop(JoinHandle<()>);

impl AbortOnDrop {
    async fn done(mut self) {
        let _ = (&mut self.0).await;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The state of the handshake, from which the client's MCP version follows.
#[derive(Debug, Default)]
struct Handshake {
    /// Set after `initialize`: later requests do not repeat the version.
    done: AtomicBool,
    /// Set once a message that opens a connection was sent.
    begun: AtomicBool,
    /// The requests that rmcp has to answer, by their numbers.
    pending: Mutex<HashMap<i64, PendingRequest>>,
}

/// A request that rmcp has to answer.
#[derive(Debug)]
struct PendingRequest {
    /// The request's id in canonical form.
    id: Box<str>,
    answers: AnswerTarget,
}

/// The destination of the answer to a message.
#[derive(Debug, Clone)]
enum AnswerTarget {
    /// A line of its own.
    Line(Outbox),
    /// The collected answers to the batch that contains the message.
    Batch(Arc<BatchAnswers>),
}

impl AnswerTarget {
    /// The remaining space for the answers to the batch.
    fn room(&self) -> Option<&BatchBudget> {
        match self {
            Self::Line(_) => None,
            Self::Batch(batch) => Some(&batch.room),
        }
    }

    fn push(
        &self,
        call: Option<PendingAnswer>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        match self {
            Self::Line(outbox) => outbox.push_last(call, write),
            Self::Batch(batch) => {
                let mut answers = lock(&batch.answers);
                if !answers.is_empty() {
                    answers.push(b',');
                }
                write(&mut answers);
                Ok(())
            }
        }
    }
}

/// The answers to a JSON-RPC batch, which are sent as one line with the last of them.
#[derive(Debug)]
struct BatchAnswers {
    outbox: Outbox,
    running: Mutex<Option<PendingAnswer>>,
    answers: Mutex<Vec<u8>>,
    room: BatchBudget,
}

impl Drop for BatchAnswers {
    fn drop(&mut self) {
        let answers = std::mem::take(&mut *lock(&self.answers));
        if answers.is_empty() {
            // A batch of notifications has no answers.
            return;
        }
        let pushed = self.outbox.push_last(lock(&self.running).take(), |line| {
            line.push(b'[');
            line.extend(answers);
            line.push(b']');
        });
        if let Err(error) = pushed {
            tracing::debug!(%error, "answers were not sent: the client is gone");
        }
    }
}

/// rmcp's end of the connection, for messages that are not handled directly.
struct RmcpTransport {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: Outbox,
    handshake: Arc<Handshake>,
    calls: Arc<Calls>,
}

impl RmcpTransport {
    /// Ends the request with this number, and returns it.
    fn end(&self, number: &RequestId) -> Option<PendingRequest> {
        let RequestId::Number(number) = number else { return None };
        let request = lock(&self.handshake.pending).remove(number)?;
        self.calls.end(&request.id, *number).then_some(request)
    }

    fn write(&self, message: ServerJsonRpcMessage) -> io::Result<()> {
        match message {
            ServerJsonRpcMessage::Response(response) => {
                if matches!(response.result, ServerResult::InitializeResult(_)) {
                    self.handshake.done.store(true, Ordering::Release);
                }
                // A cancelled request is no longer known, and gets no answer.
                let Some(request) = self.end(&response.id) else { return Ok(()) };
                let result = serde_json::to_vec(&response.result)?;
                request.answers.push(None, |line| {
                    respond_with(line, &request.id, |line| line.extend(result));
                })
            }
            ServerJsonRpcMessage::Error(mut error) if error.id.is_some() => {
                let Some(request) = error.id.take().and_then(|id| self.end(&id)) else {
                    return Ok(());
                };
                let error = RpcError {
                    code: error.error.code.0,
                    message: error.error.message,
                    data: error.error.data,
                };
                request.answers.push(None, |line| write_error(line, Some(&request.id), &error))
            }
            message => {
                let json = serde_json::to_vec(&message)?;
                self.outbox.push_last(None, |line| line.extend(json))
            }
        }
    }
}

impl Transport<RoleServer> for RmcpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sent: Ready<_> = ready(self.write(message));
        sent
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

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
struct Pipe {
    server: Arc<Server>,
    outbox: Outbox,
    handshake: Arc<Handshake>,
    calls: Arc<Calls>,
    rest: mpsc::Sender<ClientJsonRpcMessage>,
    longest: usize,
}

impl Pipe {
    async fn read_from(self, reader: Reader) {
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
        let answers = AnswerTarget::Batch(Arc::new(BatchAnswers {
            outbox: self.outbox.clone(),
            running: Mutex::new(Some(self.outbox.expect_one())),
            answers: Mutex::default(),
            room: self.server.batch_budget(),
        }));
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
                    let sent = match answers.room() {
                        Some(room) => OriginalMessage::Batched(line.into(), room.clone()),
                        None => OriginalMessage::Line(line.into()),
                    };
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
