//! Serves one client over a pair of streams, in every version of MCP.
//!
//! One task reads messages and writes answers. Requests are answered as they are read, and so are calls of
//! operations that are known to be brief (`brief_operations.rs`). Other tool calls run as separate tasks.
//! Answers that are ready at the same time are written together.

mod answer_target;
mod brief_operations;
mod lifecycle;
mod message_reader;
mod message_wait;
mod questions;
mod task_requests;
mod tool_calls;

use std::fs::File;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use mcp_aql_core::internal::util::{erased, spawn};
use mcp_aql_core::{BoxFuture, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::message_reader::MessageReader;
use crate::connection::Connection;
use crate::drain::{DrainEnd, Shutdown};
use crate::server::{Server, ServerState};
use crate::service::ToolService;
use crate::wire::Outbox;

/// How long cancelled calls and writes may go on before they are dropped.
const WRITE_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// The reading half of a stream.
pub(super) struct Input {
    pub(super) stream: Box<dyn AsyncRead + Send + Unpin>,
    /// The same stream for reads that do not wait, if it has them.
    pub(super) without_waiting: Option<File>,
}

impl Input {
    /// A stream that is only read when it has data.
    pub(super) fn new(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self { stream: Box::new(stream), without_waiting: None }
    }
}

/// The writing half of a stream.
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves one client until it disconnects, or until the server stops.
pub(super) fn serve_halves(
    service: Arc<dyn ToolService>,
    read: Input,
    write: Writer,
    shutdown: Shutdown,
) -> BoxFuture<'static, Result> {
    erased(serve(service, read, write, shutdown))
}

async fn serve(
    service: Arc<dyn ToolService>,
    read: Input,
    write: Writer,
    Shutdown { mut begins, at_once, serving }: Shutdown,
) -> Result {
    service.begin();
    serving();
    let connection = Arc::new(Connection::lasting());
    let _end = EndOnDrop(Arc::clone(&connection));
    let state = ServerState::new(Arc::clone(&service), &service.tools());
    let server = Arc::new(Server::new(Arc::clone(&state), Arc::clone(&connection)));
    let outbox = Outbox::default();
    let messages = MessageReader::new(server, outbox.clone());
    let (stop_reading, ended) = (CancellationToken::new(), CancellationToken::new());
    let writer = write_answers(outbox.clone(), write, stop_reading.clone());
    let streams = read_and_write(messages, read, writer, stop_reading.clone(), ended.clone());
    let streams = AbortOnDrop::spawn(streams);
    let end = tokio::select! {
        () = ended.cancelled() => {
            let at_once = begins.then(|()| at_once);
            finish_after_input(&state, &outbox, &connection, at_once).await
        }
        // Messages are read meanwhile: new calls are refused.
        () = &mut begins => state.stop(at_once).await,
    };
    stop_reading.cancel();
    if end != DrainEnd::Finished {
        // READs are cancelled. Changes can react; those that do not are dropped when the process ends.
        connection.end();
    }
    if end != DrainEnd::AtOnce {
        let _ = tokio::time::timeout(WRITE_GRACE_PERIOD, outbox.idle()).await;
    }
    connection.end();
    outbox.close();
    if end != DrainEnd::AtOnce {
        // A client that no longer reads would block this indefinitely.
        let _ = tokio::time::timeout(WRITE_GRACE_PERIOD, streams.done()).await;
    }
    // The session's executions, agents and tokens end, and the store and the audit log record it
    // before the process exits (REQ-LIF-10, REQ-SES-02, REQ-TOK-16).
    service.end_sessions().await;
    state.drain().report();
    Ok(())
}

/// Writes answers until there are no more, or until the client no longer reads.
async fn write_answers(outbox: Outbox, write: Writer, stop_reading: CancellationToken) {
    if let Err(error) = outbox.write_to(write).await {
        tracing::debug!(%error, "the client no longer reads");
    }
    stop_reading.cancel();
}

/// Reads messages until their end, until the client no longer reads answers, or until the server stops. Then it
/// writes until there are no more answers.
async fn read_and_write(
    messages: MessageReader,
    read: Input,
    writer: impl Future<Output = ()>,
    stop_reading: CancellationToken,
    ended: CancellationToken,
) {
    let mut writer = pin!(writer.fuse());
    let ended = ended.drop_guard();
    tokio::select! {
        biased;
        () = messages.read_from(read, writer.as_mut()) => {}
        () = stop_reading.cancelled() => {}
    }
    drop(ended);
    if !writer.is_terminated() {
        writer.await;
    }
}

/// Waits for the last answers after the end of the input. After a short time the session ends, which cancels READs, and
/// changes have the time that they have when a server stops.
async fn finish_after_input(
    state: &ServerState,
    outbox: &Outbox,
    connection: &Connection,
    at_once: impl Future<Output = ()>,
) -> DrainEnd {
    let service = state.service();
    if tokio::time::timeout(service.end_of_input_timeout(), outbox.idle()).await.is_ok() {
        return DrainEnd::Finished;
    }
    connection.end();
    let end = tokio::select! {
        biased;
        () = state.drain().changes_done() => return DrainEnd::Finished,
        () = at_once => DrainEnd::AtOnce,
        () = tokio::time::sleep(service.drain_timeout()) => DrainEnd::TimedOut,
    };
    state.drain().cut_off();
    end
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
    fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(spawn(task))
    }

    async fn done(mut self) {
        let _ = (&mut self.0).await;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
