//! Calls an adapter over HTTP, or over its standard input and output.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::pipes::Pipes;
use crate::Fault;
use crate::http::{Answer, Connection, post_call, tool_call};

/// Maximum time to wait for a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The id of all calls over HTTP. Each connection has only one call at a time.
const HTTP_ID: u64 = 2;

/// The transport of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Stdio,
}

/// The address of a process.
#[derive(Clone)]
pub(super) enum Address {
    Http(SocketAddr),
    Stdio(Pipes),
}

/// A client of a process.
pub(super) enum Client {
    /// A separate connection. It makes one call after another.
    Http(Connection),
    /// The pipes of the process. All of its clients share them.
    Stdio(Pipes),
}

/// Controls a request sent in two halves.
pub(super) struct Halves {
    /// Completes when the first half was sent.
    pub(super) sent: oneshot::Sender<()>,
    /// The second half is sent when this completes or when its sender is dropped.
    pub(super) rest: oneshot::Receiver<()>,
}

/// A response, with the id of its request.
pub(super) type Answered = (u64, Answer);

impl Client {
    pub(super) async fn open(address: &Address) -> Result<Self, Fault> {
        Ok(match address {
            Address::Http(address) => Self::Http(Connection::open(*address).await?),
            Address::Stdio(pipes) => Self::Stdio(pipes.clone()),
        })
    }

    /// Opens a session and returns its id. Over standard input and output, there is only one session.
    pub(super) async fn open_session(&mut self) -> Result<Option<String>, Fault> {
        match self {
            Self::Http(connection) => Ok(Some(connection.open_session().await?)),
            Self::Stdio(_) => Ok(None),
        }
    }

    /// Sends a call with these arguments. Returns `None` if the connection ends before the response.
    pub(super) async fn send(
        &mut self,
        session: Option<&str>,
        arguments: Value,
        halves: Option<Halves>,
    ) -> Result<Option<Answered>, Fault> {
        let exchange = async {
            match self {
                Self::Http(connection) => over_http(connection, session, arguments, halves).await,
                Self::Stdio(pipes) => over_pipes(pipes, arguments, halves).await,
            }
        };
        let answered = timeout(ANSWER_TIMEOUT, exchange).await;
        Ok(answered.map_err(|_| "a call is not answered")?.ok())
    }

    /// Calls an operation and returns its reply.
    pub(super) async fn call(
        &mut self,
        session: Option<&str>,
        operation: &str,
        params: Value,
    ) -> Result<Value, Fault> {
        let arguments = json!({ "operation": operation, "params": params });
        let answered = self.send(session, arguments, None).await?;
        let (id, answer) = answered.ok_or("the connection ended before the answer")?;
        answer.reply(id)
    }
}

async fn over_http(
    connection: &mut Connection,
    session: Option<&str>,
    arguments: Value,
    halves: Option<Halves>,
) -> Result<Answered, Fault> {
    let request = post_call(connection.address, session, tool_call(HTTP_ID, arguments));
    let Some(Halves { sent, rest }) = halves else {
        return Ok((HTTP_ID, connection.send(&request).await?));
    };
    let (first, second) = request.split_at(request.len() / 2);
    connection.stream.write_all(first).await?;
    let _ = sent.send(());
    // Dropping the sender is the signal to continue, so an error is fine.
    let _ = rest.await;
    Ok((HTTP_ID, connection.send(second).await?))
}

async fn over_pipes(
    pipes: &Pipes,
    arguments: Value,
    halves: Option<Halves>,
) -> Result<Answered, Fault> {
    let (id, answer) = pipes.expect_answer()?;
    let line = format!("{}\n", tool_call(id, arguments)).into_bytes();
    match halves {
        None => pipes.write(&line).await?,
        // Between the halves, the suite writes nothing else to the pipe.
        Some(Halves { sent, rest }) => {
            let (first, second) = line.split_at(line.len() / 2);
            pipes.write(first).await?;
            let _ = sent.send(());
            let _ = rest.await;
            pipes.write(second).await?;
        }
    }
    let body = answer.await?.into_bytes();
    Ok((id, Answer { status: 200, session: None, retry_after: None, body }))
}
