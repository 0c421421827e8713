//! MCP over standard input and output, and over any other pair of streams. One connection serves one client, in all
//! versions of MCP.
//!
//! One task reads messages and writes answers. It also answers requests other than calls, and runs calls of operations
//! known to be brief (see [`reader`]). All other tool calls run as separate tasks. Answers that are ready at
//! the same time are written together.

mod input;
mod outbox;
mod questions;
mod reader;
#[cfg_attr(not(target_os = "linux"), path = "without_standard_pipes.rs")]
mod standard_pipes;
mod standard_streams;
mod stream;
mod task_requests;
mod tool_calls;

pub use self::standard_streams::{ServeStdio, serve_tools_stdio};
pub use self::stream::{ServeStream, serve_tools};

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use mcp_aql_core::internal::execution::EndScope;
use mcp_aql_core::internal::util::{erased, spawn};
use mcp_aql_core::{BoxFuture, Result};
use tokio::io::AsyncWrite;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::input::Input;
use self::outbox::Outbox;
use self::reader::MessageReader;
use crate::mcp::connection::Connection;
use crate::mcp::drain::{DrainEnd, Shutdown};
use crate::mcp::server::{Server, ServerState};
use crate::mcp::service::ToolService;

/// How long canceled calls and unfinished writes may continue before they are dropped.
const WRITE_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// The output half of a stream.
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves one client until it disconnects or the server stops.
fn serve_halves(
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
    Shutdown { mut begin, cut_off, on_serving }: Shutdown,
) -> Result {
    service.begin();
    on_serving();
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
            let cut_off = begin.then(|()| cut_off);
            finish_after_input(&state, &outbox, &connection, cut_off).await
        }
        // Messages are still read while the server stops, so that new calls can be rejected.
        () = &mut begin => state.stop(cut_off).await,
    };
    stop_reading.cancel();
    if end != DrainEnd::Finished {
        // Ending the session cancels READs. Changes can react to it; those that do not are dropped when the process
        // exits.
        connection.end();
    }
    if end != DrainEnd::CutOff {
        let _ = tokio::time::timeout(WRITE_GRACE_PERIOD, outbox.idle()).await;
    }
    connection.end();
    outbox.close();
    if end != DrainEnd::CutOff {
        // The timeout is for clients that no longer read.
        let _ = tokio::time::timeout(WRITE_GRACE_PERIOD, streams.done()).await;
    }
    // Cancel the session's executions, agents and tokens, and record that in the store and the audit log before the
    // process exits (REQ-LIF-10, REQ-SES-02, REQ-TOK-16).
    service.end(EndScope::EndedSessions).await;
    state.drain().report();
    Ok(())
}

/// Writes answers until the outbox is closed or the client stops reading.
async fn write_answers(outbox: Outbox, write: Writer, stop_reading: CancellationToken) {
    if let Err(error) = outbox.write_to(write).await {
        tracing::debug!(%error, "the client no longer reads");
    }
    stop_reading.cancel();
}

/// Reads messages until the end of the input, until the client stops reading answers, or until the server stops. Then
/// writes the remaining answers.
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

/// Waits for the last answers after the end of the input. After a short time, the session ends and READs are canceled.
/// Changes have as much time as when a server stops.
async fn finish_after_input(
    state: &ServerState,
    outbox: &Outbox,
    connection: &Connection,
    cut_off: impl Future<Output = ()>,
) -> DrainEnd {
    let settings = state.settings();
    if tokio::time::timeout(settings.end_of_input_timeout, outbox.idle()).await.is_ok() {
        return DrainEnd::Finished;
    }
    connection.end();
    let end = tokio::select! {
        biased;
        () = state.drain().changes_done() => return DrainEnd::Finished,
        () = cut_off => DrainEnd::CutOff,
        () = tokio::time::sleep(settings.drain_timeout) => DrainEnd::TimedOut,
    };
    state.drain().cut_off();
    end
}

/// Ends the session when it is dropped, so that the session also ends if the future is dropped.
struct EndOnDrop(Arc<Connection>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A task. It is aborted on drop.
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
