//! Serves one client over a pair of streams.
//!
//! Tool calls, which are nearly all messages, are decoded here and run as separate tasks. Their
//! answers are collected and written together. All other messages go through rmcp: the handshake,
//! `ping`, `server/discover`, and future requests.

mod answer_target;
mod message_reader;
mod rmcp_transport;

use std::sync::Arc;
use std::time::Duration;

use mcp_aql_core::future::{BoxFuture, erased};
use mcp_aql_core::main_error::{Error, Result};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::message_reader::MessageReader;
use self::rmcp_transport::{Handshake, RmcpTransport};
use super::calls::Calls;
use super::connection::Connection;
use super::server::{Server, ServerState};
use super::service::ToolService;
use super::wire::Outbox;

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
    let state = ServerState::new(Arc::clone(&service), |extensions| extensions.get().cloned());
    let server = Arc::new(Server::new(state, Arc::clone(&connection)));
    let outbox = Outbox::default();
    let handshake = Arc::new(Handshake::default());
    let calls = Arc::<Calls>::default();
    let (rest, incoming) = mpsc::channel(RMCP_QUEUE_CAPACITY);
    let transport =
        RmcpTransport::new(incoming, outbox.clone(), Arc::clone(&handshake), Arc::clone(&calls));
    let messages = MessageReader {
        server: Arc::clone(&server),
        outbox: outbox.clone(),
        handshake,
        calls,
        rest,
        longest: service.max_message_bytes(),
    };
    let (gone, ended) = (CancellationToken::new(), CancellationToken::new());
    let writer = AbortOnDrop::spawn(write_answers(outbox.clone(), write, gone.clone()));
    let reader = AbortOnDrop::spawn(read_messages(messages, read, gone, ended.clone()));
    let others = serve_others(server, transport);
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
    let idle = async {
        let outcome = match over {
            Some(outcome) => outcome,
            None => others.await,
        };
        outbox.idle().await;
        outcome
    };
    let outcome = drain(idle, service.drain_timeout(), &connection).await;
    connection.end();
    outbox.close();
    // A client that no longer reads would block this indefinitely.
    let _ = tokio::time::timeout(WRITE_GRACE_PERIOD, writer.done()).await;
    // The session's executions, agents and tokens end, and the store and the audit log record it
    // before the process exits (REQ-LIF-10, REQ-SES-02, REQ-TOK-16).
    service.end_sessions().await;
    outcome
}

/// Writes answers until there are no more, or until the client no longer reads.
async fn write_answers(outbox: Outbox, write: Writer, gone: CancellationToken) {
    if let Err(error) = outbox.write_to(write).await {
        tracing::debug!(%error, "the client no longer reads");
    }
    gone.cancel();
}

/// Reads messages until their end, or until the client no longer reads answers.
async fn read_messages(
    messages: MessageReader,
    read: Reader,
    gone: CancellationToken,
    ended: CancellationToken,
) {
    let _ended = ended.drop_guard();
    tokio::select! {
        () = messages.read_from(read) => {}
        () = gone.cancelled() => {}
    }
}

/// Serves the messages that rmcp processes.
async fn serve_others(server: Arc<Server>, transport: RmcpTransport) -> Result {
    let running = match server.serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(Error::transport(error)),
    };
    running.waiting().await.map(|_reason| ()).map_err(Error::transport)
}

/// Waits for the last answers, which may still be pending. After the timeout, the session ends and only
/// writes go on: rmcp would let its calls run for five more seconds before reporting them.
async fn drain(
    idle: impl Future<Output = Result>,
    timeout: Duration,
    connection: &Connection,
) -> Result {
    tokio::pin!(idle);
    match tokio::time::timeout(timeout, &mut idle).await {
        Ok(outcome) => outcome,
        Err(_) => {
            connection.end();
            tokio::time::timeout(WRITE_GRACE_PERIOD, idle).await.unwrap_or(Ok(()))
        }
    }
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
        Self(tokio::spawn(task))
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
